import { isIP } from 'node:net'
import { refuse } from '../../options/check.ts'
import type { Options } from '../../options/options.ts'
import { assertLevel } from '../../options/resolve.ts'
import { type CheckedMembers, text } from '../../options/schema.ts'

/** Users sign in with passkeys (WebAuthn): docs/passkeys.md. It requires the package `@simplewebauthn/server`. */
export const members = {
  /**
   * The domain that passkeys are for (WebAuthn §5.1.3), which the host of the issuer is part of. If you change it, the
   * passkeys no longer work. @default the host of the issuer
   */
  rpId: text(),
  /** The name that authenticators show. @default `pages.name` */
  rpName: text(),
  /** The authentication level of a login with a passkey, one of `acrValues`. @default none */
  acr: text(),
}

/** The options, complete. */
export interface PasskeyOption {
  readonly rpId: string
  readonly rpName: string
  /** The only origin whose pages may use the passkeys. */
  readonly origin: string
  readonly acr: string | undefined
}

/** A suffix that anyone can register names below, such as `com`, is refused by browsers; Latchkey only sees that it has no dot. */
const isDomainOf = (rpId: string, host: string): boolean =>
  rpId === host || (host.endsWith(`.${rpId}`) && rpId.includes('.'))

/**
 * Completes the options.
 *
 * @throws OptionsError if they do not fit the issuer, the login page or the levels
 */
export const passkeyOption = (given: CheckedMembers<typeof members>, options: Options): PasskeyOption => {
  if (options.login.url !== undefined)
    refuse('passkeys() is for the built-in page; with login.url your page signs users in')
  const { hostname, origin } = new URL(options.issuer)
  const { rpId = hostname, rpName = options.pages.name, acr } = given
  if (isIP(hostname.replace(/^\[|\]$/g, ''))) {
    refuse(
      `passkeys() needs an issuer with a domain, such as localhost: browsers have no passkeys for ${hostname}`,
    )
  }
  if (!isDomainOf(rpId, hostname)) {
    refuse(`passkeys({ rpId }) must be ${hostname}, the host of the issuer, or a domain that it is part of`)
  }
  assertLevel('passkeys({ acr })', acr, options)
  return { rpId, rpName, origin, acr }
}
