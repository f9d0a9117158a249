import { refuse } from '../../options/check.ts'
import { featureNamed } from '../../options/features.ts'
import { limit } from '../../options/limits.ts'
import type { Options } from '../../options/options.ts'
import { assertLevel } from '../../options/resolve.ts'
import { type CheckedMembers, callback, required, text } from '../../options/schema.ts'
import type { HostUser, WithRequest } from '../../options/users.ts'

type Answer<Value> = Value | Promise<Value>
type Falsy = undefined | null | false | '' | 0

/** A second factor that our page asks for after the password: a code. */
export interface SecondFactor {
  /** The page asks for a code. */
  kind: 'code'
  /**
   * Whether this is the right code. Spaces are removed before. Latchkey limits the tries, and accepts no code of a user twice
   * within an hour.
   */
  verify(code: string): boolean | Promise<boolean>
  /**
   * Sends a code to the user, when the page appears first and when the user asks for another one.
   * @default none: the user has the codes, as in an authenticator app
   */
  send?(): unknown
  /**
   * Where `send` sends it, as the page says it, such as `'•••• 42'`: enough for its owner, and nothing for a stranger who knows the
   * password. At most 100 characters. @default the page does not say
   */
  to?: string
  /** Whether `verify` also accepts recovery codes, which may have letters. The page then offers a field for them. @default false */
  recoveryCodes?: boolean
  /** Authentication methods of the login (RFC 8176). @default ['pwd', 'otp', 'mfa'] */
  amr?: readonly string[]
  /** Authentication level of the login: one of the option `acrValues`. @default none */
  acr?: string
}

/** The demands of a request on the login of its user. */
export interface SecondFactorRequest extends WithRequest {
  /** The login needs one of these levels; empty if the request names none. */
  readonly acrValues: readonly string[]
}

/**
 * Users set up an authenticator app (TOTP), and the built-in page asks those who have for its code:
 * docs/second-factor.md#authenticator-apps. Not together with `login.url` or `secondFactor()`.
 */
export const appMembers = {
  /** The authentication level of a login with a code, one of `acrValues`. @default none */
  acr: text(),
}

/** The built-in page asks for a second factor of your app after the password: docs/second-factor.md. */
export const members = {
  /**
   * Returns the second factor that this user needs after the password, or a falsy value: docs/second-factor.md. It runs
   * again for each code.
   */
  find: required(callback<(user: HostUser, asked: SecondFactorRequest) => Answer<SecondFactor | Falsy>>()),
}

export const quotas = {
  /**
   * Codes that are sent to one user as a second factor. Each browser in which the user has signed in before counts by itself.
   */
  secondFactorSend: limit(10, 3600),
}

/** The checked options of `authenticatorApps()`. */
export type AuthenticatorOption = CheckedMembers<typeof appMembers>

/** The host decides about second factors, or Latchkey keeps them. */
export type SecondFactorOption =
  | { readonly apps: AuthenticatorOption; readonly find?: undefined }
  | { readonly apps?: undefined; readonly find: CheckedMembers<typeof members>['find'] }

/** @throws OptionsError with a login page of the host, which asks for the second factor itself */
const assertOwnPage = (name: string, { login }: Options): void => {
  if (login.url !== undefined)
    refuse(`${name} is for the built-in page: with login.url your page asks for the second factor`)
}

export const authenticatorOption = (apps: AuthenticatorOption, options: Options): SecondFactorOption => {
  assertOwnPage('authenticatorApps()', options)
  if (featureNamed(options, 'secondFactor'))
    refuse('authenticatorApps() cannot be used with secondFactor(), which asks for a second factor itself')
  assertLevel('authenticatorApps({ acr })', apps.acr, options)
  return { apps }
}

export const secondFactorOption = (
  { find }: CheckedMembers<typeof members>,
  options: Options,
): SecondFactorOption => {
  assertOwnPage('secondFactor()', options)
  return { find }
}
