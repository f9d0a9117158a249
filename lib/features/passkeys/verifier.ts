import type { PasskeyResponse } from './rules.ts'

/** What both kinds of responses must be for. */
export interface PasskeyExpectation {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
}

/** A new credential, as its authenticator describes it. */
export interface RegisteredCredential {
  /** Base64url. */
  readonly credentialId: string
  /** A COSE key, base64url. */
  readonly publicKey: string
  readonly counter: number
  readonly isBackedUp: boolean
  /** The model of the authenticator, or 16 zero bytes as a UUID. */
  readonly aaguid: string
}

/** What an authenticator says about the use of a passkey. */
export interface Assertion {
  readonly counter: number
  readonly isBackedUp: boolean
  /** Whether the passkey may be copied to other devices. */
  readonly isSynced: boolean
}

/** Verifies what browsers return. Both functions return undefined for anything that is not as expected. */
export interface PasskeyVerifier {
  /** A new credential (WebAuthn §7.1): user verification is required, attestation is not. */
  verifyRegistration(
    response: PasskeyResponse,
    expected: PasskeyExpectation,
  ): Promise<RegisteredCredential | undefined>
  /**
   * A sign-in (WebAuthn §7.2): type, challenge, origin, RP ID, user presence, user verification and signature. The caller
   * checks the counter.
   *
   * @param publicKey of the passkey that the response names, a COSE key in base64url
   */
  verifyAssertion(
    response: PasskeyResponse,
    expected: PasskeyExpectation,
    publicKey: string,
  ): Promise<Assertion | undefined>
}

/** The package says with an error what it does not accept. */
const acceptedBy = async <T>(verify: () => Promise<T | undefined>): Promise<T | undefined> =>
  verify().catch(() => undefined)

const load = async () => ({
  ...(await import('@simplewebauthn/server')),
  ...(await import('@simplewebauthn/server/helpers')),
})

/**
 * Loads the package that verifies passkeys, an optional peer dependency.
 *
 * @throws Error that says how to install it
 */
export const openPasskeyVerifier = async (): Promise<PasskeyVerifier> => {
  const webauthn = await load().catch((cause: unknown) => {
    throw new Error(
      'latchkey: features.passkeys needs the package @simplewebauthn/server; run: npm install @simplewebauthn/server@14',
      { cause },
    )
  })

  /** Latchkey asks for no attestation. A certificate in one would be checked with requests to hosts that it names. */
  const hasCertificate = (attestationObject: string): boolean => {
    const bytes = webauthn.isoBase64URL.toBuffer(attestationObject)
    const decoded = webauthn.decodeAttestationObject(bytes)
    const format = decoded.get('fmt')
    return !(format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined))
  }

  const usual = ({ challenge, origin, rpId }: PasskeyExpectation) => ({
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  })

  const credentialOf = ({ id }: PasskeyResponse) =>
    ({ id, rawId: id, type: 'public-key', clientExtensionResults: {} }) as const

  return {
    verifyRegistration: ({ members, ...response }, expected) =>
      acceptedBy(async () => {
        const { clientDataJSON = '', attestationObject = '' } = members
        if (hasCertificate(attestationObject)) return undefined
        const { verified, registrationInfo } = await webauthn.verifyRegistrationResponse({
          ...usual(expected),
          response: {
            ...credentialOf({ members, ...response }),
            response: { clientDataJSON, attestationObject },
          },
        })
        if (!verified) return undefined
        const { credential, credentialBackedUp, aaguid } = registrationInfo
        return {
          credentialId: credential.id,
          publicKey: Buffer.from(credential.publicKey).toString('base64url'),
          counter: credential.counter,
          isBackedUp: credentialBackedUp,
          aaguid,
        }
      }),

    verifyAssertion: (response, expected, publicKey) =>
      acceptedBy(async () => {
        const { clientDataJSON = '', authenticatorData = '', signature = '' } = response.members
        const { verified, authenticationInfo } = await webauthn.verifyAuthenticationResponse({
          ...usual(expected),
          response: {
            ...credentialOf(response),
            response: { clientDataJSON, authenticatorData, signature },
          },
          // With 0, the package leaves the counter to us: the database compares it and stores it in one step.
          credential: { id: response.id, publicKey: webauthn.isoBase64URL.toBuffer(publicKey), counter: 0 },
        })
        if (!verified) return undefined
        const { newCounter, credentialBackedUp, credentialDeviceType } = authenticationInfo
        return {
          counter: newCounter,
          isBackedUp: credentialBackedUp,
          isSynced: credentialDeviceType === 'multiDevice',
        }
      }),
  }
}
