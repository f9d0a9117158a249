import { HostError } from '../../protocol/problem.ts'
import type { PasskeyResponse } from './rules.ts'

/** Values that both kinds of responses must be for. */
interface Expected {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
}

type WebAuthn = typeof import('@simplewebauthn/server') & typeof import('@simplewebauthn/server/helpers')

/** Loads the package that verifies passkeys, an optional peer dependency. */
const loadWebAuthn = async (): Promise<WebAuthn> => {
  try {
    return {
      ...(await import('@simplewebauthn/server')),
      ...(await import('@simplewebauthn/server/helpers')),
    }
  } catch (cause) {
    throw new HostError('passkeys() needs the package @simplewebauthn/server', {
      fix: 'run: npm install @simplewebauthn/server@14',
      cause,
    })
  }
}

/** @throws Error that says how to install the package that verifies passkeys, if it is missing */
export const assertWebAuthn = async (): Promise<void> => void (await loadWebAuthn())

/** The package says with an error what it does not accept. */
const acceptedBy = async <T>(
  verify: (webauthn: WebAuthn) => Promise<T | undefined>,
): Promise<T | undefined> => {
  const webauthn = await loadWebAuthn()
  return verify(webauthn).catch(() => undefined)
}

/** Latchkey asks for no attestation. A certificate in one would be checked with requests to hosts that it names. */
const hasCertificate = (webauthn: WebAuthn, attestationObject: string): boolean => {
  const bytes = webauthn.isoBase64URL.toBuffer(attestationObject)
  const decoded = webauthn.decodeAttestationObject(bytes)
  const format = decoded.get('fmt')
  return !(format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined))
}

const usual = ({ challenge, origin, rpId }: Expected) => ({
  expectedChallenge: challenge,
  expectedOrigin: origin,
  expectedRPID: rpId,
  requireUserVerification: true,
})

const credentialOf = ({ id }: PasskeyResponse) =>
  ({ id, rawId: id, type: 'public-key', clientExtensionResults: {} }) as const

/**
 * Verifies a new credential (WebAuthn §7.1): user verification is required, attestation is not.
 *
 * @returns what its authenticator says about it, keys and ids as base64url; undefined if anything is not as expected
 */
export const verifyRegistration = (response: PasskeyResponse, expected: Expected) =>
  acceptedBy(async (webauthn) => {
    const { clientDataJSON = '', attestationObject = '' } = response.members
    if (hasCertificate(webauthn, attestationObject)) return undefined
    const { verified, registrationInfo } = await webauthn.verifyRegistrationResponse({
      ...usual(expected),
      response: { ...credentialOf(response), response: { clientDataJSON, attestationObject } },
    })
    if (!verified) return undefined
    const { credential, credentialBackedUp, aaguid } = registrationInfo
    return {
      credentialId: credential.id,
      /** A COSE key. */
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      isBackedUp: credentialBackedUp,
      /** The model of the authenticator, or 16 zero bytes as a UUID. */
      aaguid,
    }
  })

/**
 * Verifies a sign-in (WebAuthn §7.2): type, challenge, origin, RP ID, user presence, user verification and signature. The
 * caller checks the counter.
 *
 * @param publicKey of the passkey that the response names, a COSE key in base64url
 * @returns what the authenticator says about the use; undefined if anything is not as expected
 */
export const verifyAssertion = (response: PasskeyResponse, expected: Expected, publicKey: string) =>
  acceptedBy(async (webauthn) => {
    const { clientDataJSON = '', authenticatorData = '', signature = '' } = response.members
    const { verified, authenticationInfo } = await webauthn.verifyAuthenticationResponse({
      ...usual(expected),
      response: { ...credentialOf(response), response: { clientDataJSON, authenticatorData, signature } },
      // With 0, the package leaves the counter to us: the database compares it and stores it in one step.
      credential: { id: response.id, publicKey: webauthn.isoBase64URL.toBuffer(publicKey), counter: 0 },
    })
    if (!verified) return undefined
    const { newCounter, credentialBackedUp, credentialDeviceType } = authenticationInfo
    return {
      counter: newCounter,
      isBackedUp: credentialBackedUp,
      /** Whether the passkey may be copied to other devices. */
      isSynced: credentialDeviceType === 'multiDevice',
    }
  })
