import { authenticationCode, hashSecret, isEqual, randomId } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { createReplay } from '../../storage/repositories/replays.ts'
import type { BoundBrowser } from '../../web/sessions/browser-binding.ts'

/**
 * The user handle that authenticators store with passkeys (WebAuthn §4): the same for every passkey of a user, and no
 * personal data, because only this database has the key of the hash.
 */
export const userHandleOf = ({ pairwiseSalt }: AuthorizationServer, subject: string): string =>
  authenticationCode(pairwiseSalt, 'passkey user', [subject])

/** Seconds that a challenge can be answered. */
const lifetime = 300

/** The purpose of a challenge. That of one page is invalid on every other, and in every other browser. */
export interface ChallengePurpose {
  readonly action: 'sign in' | 'add'
  /** The id of a pending request, or the name of the page. */
  readonly about: string
  readonly browser: Pick<BoundBrowser, 'secret'>
}

/** A challenge that was made here and has not expired. */
export interface Challenge {
  /** As the authenticator signs it, base64url. */
  readonly value: string
  readonly nonce: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

const codeUnder = (
  secret: string,
  { action, about, browser }: ChallengePurpose,
  ...parts: string[]
): string => authenticationCode(secret, 'passkey challenge', [action, about, browser.secret, ...parts])

/**
 * A challenge for the authenticator (WebAuthn §13.4.3). It proves itself, so that a page which is only opened stores
 * nothing.
 */
export const createChallenge = (server: AuthorizationServer, purpose: ChallengePurpose): string => {
  const [expiresAt, nonce] = [String(server.now() + lifetime), randomId()]
  const code = codeUnder(server.options.secrets[0], purpose, expiresAt, nonce)
  return Buffer.from(`${expiresAt}.${nonce}.${code}`).toString('base64url')
}

/**
 * Opens a challenge that an authenticator has signed.
 *
 * @returns `challenge` if it was not made here for this purpose, `expired` if it was
 */
export const openChallenge = (
  server: AuthorizationServer,
  value: string,
  purpose: ChallengePurpose,
): Challenge | 'challenge' | 'expired' => {
  const [expiresAt = '', nonce = '', code = ''] = Buffer.from(value, 'base64url').toString().split('.')
  const isOurs = server.options.secrets
    .map((secret) => isEqual(codeUnder(secret, purpose, expiresAt, nonce), code))
    .includes(true)
  if (!isOurs) return 'challenge'
  return Number(expiresAt) > server.now() ? { value, nonce, expiresAt: Number(expiresAt) } : 'expired'
}

/**
 * Uses a challenge up, for all processes.
 *
 * @returns false if it was used before
 */
export const consumeChallenge = (
  { database }: AuthorizationServer,
  { nonce, expiresAt }: Challenge,
): Promise<boolean> => createReplay(database, { hash: hashSecret(`passkey ${nonce}`), expiresAt })
