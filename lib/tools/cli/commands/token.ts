import { definitionsOf, type TokenCommands } from '../../../features/feature.ts'
import { createJwtVerifier } from '../../../keys/jwt-verifier.ts'
import { isPublished } from '../../../keys/key-schedule.ts'
import { publicPart } from '../../../keys/sealed-jwk.ts'
import {
  hashSecret,
  isSecretOf,
  mayBeRefreshToken,
  type SecretKind,
  secretPrefixes,
} from '../../../keys/secrets.ts'
import { openKey } from '../../../keys/signing-key.ts'
import { type Family, isLive } from '../../../protocol/requests/authorization.ts'
import { accessTokenType, parseJwtAccessToken } from '../../../protocol/tokens/jwt-access-token.ts'
import { formatBinding } from '../../../protocol/tokens/token-binding.ts'
import {
  type AccessToken,
  findAccessToken,
  findRefreshToken,
  findStateOfToken,
  revokeAccessToken,
  revokeAuthorization,
} from '../../../storage/repositories/index.ts'
import { listSigningKeys } from '../../../storage/repositories/signing-keys.ts'
import type { Command, CommandContext, InspectedToken } from '../../command.ts'
import { print, printJson, printNote, readSecret, table } from '../terminal.ts'
import { loadTools } from '../tools.ts'

const stateOf = (family: Family | undefined, now: number): string => {
  if (family === undefined) return 'its authorization was removed'
  if (family.revokedAt !== null) return 'its authorization is revoked'
  if (!family.offline && !family.loginStands) return 'the login has ended'
  return isLive(family, now) ? 'active' : 'its authorization is expired'
}

const stateOfAccessToken = (token: AccessToken, now: number): string => {
  if (token.revokedAt !== null) return 'revoked'
  if (token.expiresAt <= now) return 'expired'
  if (token.client === undefined) return 'its client is disabled or deleted'
  return token.subject === undefined ? 'active' : stateOf(token.family, now)
}

/** The things that the user chose, as they stand now. */
const chosenBy = (family: Pick<Family, 'choices'> | undefined): Pick<InspectedToken, 'more'> =>
  family?.choices ? { more: { choices: JSON.stringify(family.choices) } } : {}

const inspectOpaque = async (
  { database, now }: CommandContext,
  value: string,
): Promise<InspectedToken | undefined> => {
  const token = await findAccessToken(database, { hash: hashSecret(value) })
  if (token === undefined) return undefined
  return {
    ...token,
    ...chosenBy(token.family),
    type: 'access token',
    state: stateOfAccessToken(token, now()),
  }
}

const inspectRefreshToken = async (
  { database, now }: CommandContext,
  value: string,
): Promise<InspectedToken | undefined> => {
  const token = await findRefreshToken(database, { hash: hashSecret(value) })
  if (token === undefined) return undefined
  const { authorization, binding, expiresAt, consumedAt } = token
  const { id, clientId, subject, scopes, details } = authorization
  const used = consumedAt === null ? 'expired' : 'used'
  const isOver = consumedAt !== null || expiresAt <= now()
  return {
    type: 'refresh token',
    clientId,
    subject,
    scopes,
    expiresAt,
    authorizationId: id,
    issuedAt: undefined,
    state: isOver ? used : stateOf(authorization, now()),
    resources: Object.keys(details.resources ?? {}),
    binding,
    ...chosenBy(authorization),
  }
}

const tokenTools = async ({ options }: CommandContext): Promise<readonly TokenCommands[]> =>
  (await loadTools(definitionsOf(options))).flatMap(({ tokens }) => tokens ?? [])

const inspectOfFeature = async (
  context: CommandContext,
  value: string,
): Promise<InspectedToken | undefined> => {
  for (const tokens of await tokenTools(context)) {
    const found = await tokens.inspect(context, value)
    if (found) return found
  }
  return undefined
}

/** A JWT counts only if one of the published keys signed it. */
const inspectJwt = async (
  { database, options, now }: CommandContext,
  value: string,
): Promise<InspectedToken | undefined> => {
  const published = (await listSigningKeys(database)).filter((key) => isPublished(key, now()))
  const keys = await Promise.all(published.map((key) => openKey(database, options, key)))
  const claims = createJwtVerifier({ keys: keys.map(publicPart) }).open(value, accessTokenType)
  const token = claims && parseJwtAccessToken(claims, options.issuer, 0)
  if (token === undefined) return undefined
  const { clientId, authorizationId, ownerId = clientId } = token
  const state = await findStateOfToken(database, {
    clientId,
    authorizationId: authorizationId ?? null,
    ownerId,
  })
  const ofClient = state?.client ? 'active' : 'its client is disabled or deleted'
  const ofAuthorization = authorizationId === undefined ? ofClient : stateOf(state?.family, now())
  const current = ofClient === 'active' ? ofAuthorization : ofClient
  return {
    ...token,
    type: 'JWT access token',
    state: token.expiresAt <= now() ? 'expired' : current,
    subject: state?.subject,
  }
}

const otherKind = (value: string): SecretKind | undefined =>
  (Object.keys(secretPrefixes) as SecretKind[]).find((kind) => isSecretOf(kind, value))

const words = (kind: SecretKind): string => kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const inspect = async (context: CommandContext): Promise<InspectedToken & { readonly value: string }> => {
  const value = (await readSecret('Token: ')).trim()
  const kind = otherKind(value)
  const isAccessToken = isSecretOf('accessToken', value)
  if (kind !== undefined && !isAccessToken && kind !== 'refreshToken') {
    throw new Error(`this is not a token, but has the form of this secret: ${words(kind)}`)
  }
  const ofOtherForm = value.includes('.') ? inspectJwt : inspectOfFeature
  const find = isAccessToken ? inspectOpaque : kind === 'refreshToken' ? inspectRefreshToken : ofOtherForm
  const imported = kind === undefined && mayBeRefreshToken(value) ? inspectRefreshToken : undefined
  const found = (await find(context, value)) ?? (await imported?.(context, value))
  if (found) return { ...found, value }
  throw new Error('the token is unknown: it was not issued here, or it expired and was removed')
}

const time = (seconds: number | undefined): string =>
  seconds === undefined ? '' : new Date(seconds * 1000).toISOString()

const input =
  'The token is read from standard input, or asked for: other users of the machine can read arguments.'

/** `latchkey token inspect` */
export const inspectTokenCommand: Command = {
  name: 'token inspect',
  summary: 'prints what a token is for, and whether it is active',
  details: `${input}\nWhether the user is still active in your user table is not checked.`,
  options: { json: { help: 'print JSON' } },
  example: 'latchkey token inspect < token.txt',
  async run(context, invocation) {
    const { value: _, ...token } = await inspect(context)
    const fields = {
      type: token.type,
      state: token.state,
      ...token.more,
      client_id: token.clientId,
      sub: token.subject ?? '',
      scope: token.scopes.join(' '),
      resource: token.resources.join(' '),
      bound_to: (token.binding && formatBinding(token.binding)) ?? '',
      issued: time(token.issuedAt),
      expires: time(token.expiresAt),
      authorization: token.authorizationId ?? '',
    }
    const known = Object.entries(fields).filter(([, text]) => text !== '')
    if (invocation.flag('json')) printJson(Object.fromEntries(known))
    else print(...table(known))
  },
}

/** `latchkey token revoke` */
export const revokeTokenCommand: Command = {
  name: 'token revoke',
  summary: 'revokes a token; a refresh token with all tokens of its authorization',
  details: `${input}\nJWT access tokens cannot be revoked: revoke the consent or the refresh token.`,
  options: {},
  example: 'latchkey token revoke < token.txt',
  async run(context) {
    const { type, value, clientId, subject = '', authorizationId } = await inspect(context)
    const { database, now, events } = context
    if (type === 'JWT access token') {
      throw new Error('a JWT access token cannot be revoked; see: latchkey consents revoke --help')
    }
    for (const tokens of await tokenTools(context)) {
      const revoked = await tokens.revoke(context, value)
      if (revoked !== undefined) return printNote(revoked)
    }
    if (authorizationId === undefined) {
      if (await revokeAccessToken(database, { hash: hashSecret(value), clientId, now: now() }))
        events.announce('token.revoked', undefined, { clientId })
    } else {
      const about = { authorizationId, clientId, subject }
      await events.change(database, async (tx, tell) => {
        if (await revokeAuthorization(tx, { id: authorizationId, now: now() }))
          await tell('authorization.revoked', undefined, { ...about, reason: 'revoked_by_host' })
      })
    }
    printNote(`the ${type} of client ${clientId} is revoked`)
  },
}
