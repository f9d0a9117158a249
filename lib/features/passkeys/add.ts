import { hashSecret } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { deviceName } from '../../users/account/device-name.ts'
import { revokeAllOf } from '../../users/account/user-lifecycle.ts'
import type { User } from '../../users/users.ts'
import type { Context } from '../../web/http/context.ts'
import type { Text } from '../../web/pages/i18n/text.ts'
import type { BoundBrowser } from '../../web/sessions/browser-binding.ts'
import type { ActiveLogin } from '../../web/sessions/login.ts'
import {
  type ChallengePurpose,
  consumeChallenge,
  createChallenge,
  openChallenge,
  userHandleOf,
} from './challenge.ts'
import type { PasskeyOption } from './option.ts'
import { passkeyProvider } from './providers.ts'
import { type Passkey, type PasskeyFailure, parsePasskeyResponse } from './rules.ts'
import { createPasskey, listPasskeys, removePasskey, removePasskeysOfSubject } from './table.ts'
import { verifyRegistration } from './verifier.ts'

/** The most passkeys of a user. */
export const maxPasskeys = 20

/** COSE algorithms in order of preference (RFC 9053): Ed25519, ECDSA with P-256, RSA with SHA-256 for Windows. */
const algorithms = [-8, -7, -257]

const purposeOf = (subject: string, browser: Pick<BoundBrowser, 'secret'>): ChallengePurpose => ({
  action: 'add',
  about: subject,
  browser,
})

/**
 * The options with which the script asks the browser for a new passkey: PublicKeyCredentialCreationOptions as JSON
 * (WebAuthn §5.1.9). An authenticator that has one of these passkeys already makes no other.
 *
 * @returns undefined if the user has as many passkeys as are allowed
 */
export const passkeyCreation = (
  server: AuthorizationServer,
  { rpId, rpName }: PasskeyOption,
  { subject, username }: User,
  known: readonly Passkey[],
  browser: BoundBrowser,
): string | undefined => {
  if (known.length >= maxPasskeys) return undefined
  return JSON.stringify({
    rp: { id: rpId, name: rpName },
    user: { id: userHandleOf(server, subject), name: username, displayName: username },
    challenge: createChallenge(server, purposeOf(subject, browser)),
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: known.map(({ credentialId: id, transports }) => ({
      type: 'public-key',
      id,
      transports,
    })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
  })
}

interface NewPasskey extends Pick<ActiveLogin, 'user' | 'login'> {
  readonly browser: Pick<BoundBrowser, 'secret'>
  /** JSON from our script. */
  readonly response: string
  /** The header `User-Agent` of the browser. */
  readonly userAgent: string | undefined
  /** The language of the page (BCP 47). */
  readonly language: string
}

/** Transports of security keys (WebAuthn §5.8.4). */
const keyTransports = ['usb', 'nfc', 'ble', 'smart-card']

/**
 * The first name of a passkey: that of its provider, or of this device if the device itself keeps it.
 *
 * @param text the texts of the page
 * @returns an empty string if nothing is known
 * @example nameFor(text, { aaguid, transports: ['internal'] }, userAgent) // 'Passkey on Chrome, macOS'
 */
const nameFor = (
  text: Text,
  { aaguid, transports }: { readonly aaguid: string; readonly transports: readonly string[] },
  userAgent: string | undefined,
): string => {
  const provider = passkeyProvider(aaguid)
  if (provider !== undefined) return provider
  if (transports.includes('internal')) {
    const { browser, system } = deviceName(userAgent)
    const device = [browser, system].filter((part) => part !== undefined).join(', ')
    return device && text.plain('passkeys.on', { device })
  }
  return transports.some((each) => keyTransports.includes(each)) ? text.plain('passkeys.security-key') : ''
}

const store = async (
  server: AuthorizationServer,
  { origin, rpId }: PasskeyOption,
  { login: { subject, sid }, browser, response: text, userAgent, language }: NewPasskey,
): Promise<{ readonly hash: string } | PasskeyFailure> => {
  const { database } = server
  const response = parsePasskeyResponse(text)
  if (response === undefined) return 'malformed'
  const challenge = openChallenge(server, response.challenge, purposeOf(subject, browser))
  if (typeof challenge === 'string') return challenge
  const expected = { challenge: challenge.value, origin, rpId }
  const created = await verifyRegistration(response, expected)
  if (created === undefined) return 'invalid'
  if (!(await consumeChallenge(server, challenge))) return 'replayed'
  const { credentialId, publicKey, counter, isBackedUp, aaguid } = created
  const hash = hashSecret(credentialId)
  const { transports } = response
  const outcome = await createPasskey(database, {
    hash,
    subject,
    sid,
    credentialId,
    publicKey,
    counter,
    transports,
    isBackedUp,
    now: server.now(),
    name: nameFor(server.languages.text(language), { aaguid, transports }, userAgent),
  })
  if (outcome !== 'added') return outcome
  if ((await listPasskeys(database, { subject })).length <= maxPasskeys) return { hash }
  // Several tabs have added one at the same time.
  await removePasskey(database, { hash, subject })
  return 'exists'
}

/**
 * Adds the passkey that the browser has made, and announces the outcome.
 *
 * @returns its hash; undefined if it was not added
 */
export const addPasskey = async (
  { server, info }: Context,
  option: PasskeyOption,
  added: NewPasskey,
): Promise<string | undefined> => {
  const outcome = await store(server, option, added)
  const { subject } = added.user
  if (typeof outcome === 'string') {
    server.events.announce('passkey.failed', info, { reason: outcome, subject })
    return undefined
  }
  server.events.announce('passkey.added', info, { subject })
  return outcome.hash
}

/** Removes every passkey of a user and announces each. Everything else of the user ends at the same moment. */
export const removePasskeysOf = async (server: AuthorizationServer, subject: string): Promise<void> => {
  await revokeAllOf(server, subject, {
    reason: 'passkeys removed',
    writes: [removePasskeysOfSubject.with({ subject })],
    tellOf: async (tell, [count = 0]) => {
      for (let index = 0; index < count; index += 1) await tell('passkey.removed', undefined, { subject })
    },
  })
}

/**
 * Removes one passkey of a user, and announces it.
 *
 * @param by the request, and the administrator if one does it
 * @returns whether this call removed it
 */
export const removeOnePasskey = (
  server: AuthorizationServer,
  passkey: { readonly hash: string; readonly subject: string },
  { info, actor }: { readonly info: RequestInfo; readonly actor?: string | undefined },
): Promise<boolean> =>
  server.events.change(server.database, async (tx, tell) => {
    if (!(await removePasskey(tx, passkey))) return false
    const { subject } = passkey
    await tell('passkey.removed', info, { subject, ...(actor !== undefined && { actor }) })
    return true
  })
