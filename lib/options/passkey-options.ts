import { isIP } from 'node:net'
import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import type { Branding } from './page-options.ts'

/** Sign-in with passkeys (WebAuthn) on the built-in page. */
export interface PasskeyOptions {
  /**
   * The domain that passkeys are for (WebAuthn §5.1.3): the host of the issuer, or a domain that it is part of. Passkeys of
   * another domain do not work here, so never change it. @default the host of the issuer
   */
  rpId?: string
  /** The name that authenticators show. @default `branding.name` */
  rpName?: string
  /** Authentication level of a login with a passkey: one of the option `acrValues`. @default none */
  acr?: string
}

/** The same with its defaults. */
export interface Passkeys {
  readonly rpId: string
  readonly rpName: string
  /** The only origin whose pages may use the passkeys. */
  readonly origin: string
  readonly acr: string | undefined
}

/** A suffix that anyone can register names below, such as `com`, is refused by browsers; Latchkey only sees that it has no dot. */
const isDomainOf = (rpId: string, host: string): boolean =>
  rpId === host || (host.endsWith(`.${rpId}`) && rpId.includes('.'))

interface Context {
  readonly issuer: string
  readonly branding: Branding
  readonly acrValues: readonly string[]
}

/**
 * Checks the option `login.passkeys`.
 *
 * @returns undefined if passkeys are off
 * @throws OptionsError
 */
export const checkedPasskeys = (
  { passkeys = false, url }: { readonly passkeys?: boolean | PasskeyOptions; readonly url?: string },
  { issuer, branding, acrValues }: Context,
): Passkeys | undefined => {
  if (passkeys === false) return undefined
  const given = passkeys === true ? {} : passkeys
  assertRecord('login.passkeys', given)
  assertNames('login.passkeys.', given, ['rpId', 'rpName', 'acr'])
  for (const name of ['rpId', 'rpName', 'acr'] as const)
    assertType(`login.passkeys.${name}`, given[name], 'string')
  if (url !== undefined)
    refuse('login.passkeys is for the built-in page; with login.url your page signs users in')
  const { hostname, origin } = new URL(issuer)
  const { rpId = hostname, rpName = branding.name ?? 'Latchkey', acr } = given
  if (isIP(hostname.replace(/^\[|\]$/g, ''))) {
    refuse(
      `login.passkeys needs an issuer with a domain, such as localhost: browsers have no passkeys for ${hostname}`,
    )
  }
  if (!isDomainOf(rpId, hostname)) {
    refuse(`login.passkeys.rpId must be ${hostname}, the host of the issuer, or a domain that it is part of`)
  }
  if (acr !== undefined && !acrValues.includes(acr)) {
    refuse('login.passkeys.acr must be one of the option acrValues')
  }
  return { rpId, rpName, origin, acr }
}
