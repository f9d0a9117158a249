import { createSecret, hashSecret, mayBeRefreshToken, randomId } from '../../keys/secrets.ts'
import type { Lifetimes } from '../../options/lifetimes.ts'
import { absoluteLifetime } from '../../protocol/clients/client.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { unknownTime } from '../../protocol/requests/login.ts'
import { bearer } from '../../protocol/tokens/token-binding.ts'
import { transaction, writeAll } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  consumeAuthorizationCode,
  createAuthorization,
  createRefreshToken,
  findExistingRefreshTokens,
} from '../../storage/repositories/index.ts'
import { isHexHash, ownHash } from './checked-client.ts'
import type { StoredForm } from './map.ts'

/** A refresh token of another server. */
export interface ImportedToken {
  readonly clientId: string
  readonly subject: string
  readonly scopes: readonly string[]
  /** The token itself, or its SHA-256. */
  readonly stored: string
  /** The form of the token; absent: it is recognised. */
  readonly form?: StoredForm | undefined
  /** Epoch seconds; absent if the other server does not keep it. */
  readonly createdAt?: number | undefined
  /** Epoch seconds; absent: it has no expiry of its own. */
  readonly expiresAt?: number | undefined
  /** Epoch seconds of the login; absent if the other server does not keep it. */
  readonly authTime?: number | undefined
  /** Why it cannot be imported. */
  readonly refusal?: string | undefined
}

export interface TokenImportOptions {
  /** The clients of the import, by their ids. */
  readonly clients: ReadonlyMap<string, ClientMetadata>
  readonly lifetimes: Pick<Lifetimes, 'refreshTokenIdle' | 'refreshTokenAbsolute'>
  /** The meaning of 64 hexadecimal digits. @default 'sha256' */
  readonly hex?: StoredForm | undefined
  /** Only counts. */
  readonly dryRun: boolean
  /** Is called after each batch with how many tokens are done. */
  readonly progress?: (done: number) => void
}

/** The result of importing refresh tokens, or of a dry run. */
export interface TokenImport {
  readonly imported: number
  /** Tokens that are here already, used or not. */
  readonly known: number
  /** Numbers of the others, by the reason. */
  readonly refused: Readonly<Record<string, number>>
}

interface Registry {
  readonly database: Database
  /** Epoch seconds. */
  now(): number
}

/** A token with the hash under which it is found. */
interface Accepted {
  readonly token: ImportedToken
  readonly hash: string
  /** End of the token and of everything that follows from it, in epoch seconds. */
  readonly expiresAt: number
  readonly familyEnd: number
}

const batchSize = 100

const hashOf = ({ stored, form }: ImportedToken, hex: StoredForm = 'sha256'): string | undefined => {
  if (form === 'sha256' || (form === undefined && isHexHash(stored) && hex === 'sha256'))
    return ownHash(stored)
  return mayBeRefreshToken(stored) ? hashSecret(stored) : undefined
}

/** Returns a sentence if the token cannot be imported. */
const accept = (
  token: ImportedToken,
  metadata: ClientMetadata | undefined,
  { lifetimes, hex }: TokenImportOptions,
  now: number,
): Accepted | string => {
  if (metadata === undefined) return 'its client is not imported'
  if (token.refusal !== undefined) return token.refusal
  if (!metadata.grant_types.includes('refresh_token')) return 'its client has no refresh tokens here'
  if (token.subject === '' || token.subject.length > 255) return 'it belongs to no user'
  const hash = hashOf(token, hex)
  if (hash === undefined) return 'its form is not that of a refresh token'
  const { expiresAt = Number.POSITIVE_INFINITY } = token
  const createdAt = Math.min(token.createdAt ?? now, now)
  const idle = metadata.refresh_token_idle_lifetime ?? lifetimes.refreshTokenIdle
  const absolute = absoluteLifetime(metadata, lifetimes)
  const familyEnd = createdAt + absolute
  if (expiresAt <= now) return 'it is expired'
  if (familyEnd <= now) return 'it is older than refresh tokens can be here'
  const end = Math.min(expiresAt, now + idle, familyEnd)
  return { token: { ...token, createdAt }, hash, expiresAt: end, familyEnd }
}

/** Each token begins a family of its own, as if its code had been redeemed when it was issued. */
const store = async (
  tx: Database,
  { token, hash, expiresAt, familyEnd }: Accepted,
  now: number,
): Promise<void> => {
  const { clientId, subject, scopes, createdAt = now, authTime = unknownTime } = token
  const id = randomId()
  const details = { authTime, amr: [] }
  const authorization = createAuthorization({
    id,
    sid: randomId(),
    clientId,
    subject,
    scopes,
    // It depends on no login here, and has no code that anyone knows.
    offline: true,
    codeHash: hashSecret(createSecret('authorizationCode')),
    codeExpiresAt: createdAt,
    now: createdAt,
    expiresAt: familyEnd,
    details,
  })
  await writeAll(tx, [
    authorization,
    consumeAuthorizationCode({ id, narrowed: 0, now: createdAt }),
    createRefreshToken({ hash, authorizationId: id, binding: bearer, now: createdAt, expiresAt }),
  ])
}

const inBatches = async function* <T>(lists: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  for await (const list of lists) {
    for (let start = 0; start < list.length; start += batchSize) yield list.slice(start, start + batchSize)
  }
}

/**
 * Imports refresh tokens of imported clients, a hundred in a transaction. A token that is here already is
 * not touched, so an import that is interrupted can run again.
 */
export const importRefreshTokens = async (
  { database, now }: Registry,
  tokens: AsyncIterable<readonly ImportedToken[]>,
  options: TokenImportOptions,
): Promise<TokenImport> => {
  const refused: Record<string, number> = {}
  let [imported, known, done] = [0, 0, 0]
  for await (const batch of inBatches(tokens)) {
    const accepted = new Map<string, Accepted>()
    for (const token of batch) {
      const result = accept(token, options.clients.get(token.clientId), options, now())
      if (typeof result === 'string') refused[result] = (refused[result] ?? 0) + 1
      else accepted.set(result.hash, result)
    }
    const added = await transaction(database, async (tx) => {
      const existing = await findExistingRefreshTokens(tx, { hashes: [...accepted.keys()] })
      const fresh = [...accepted.values()].filter(({ hash }) => !existing.has(hash))
      if (!options.dryRun) for (const one of fresh) await store(tx, one, now())
      return fresh.length
    })
    imported += added
    known += accepted.size - added
    done += batch.length
    options.progress?.(done)
  }
  return { imported, known, refused }
}
