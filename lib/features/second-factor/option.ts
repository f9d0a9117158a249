import { refuse } from '../../options/check.ts'
import { limit } from '../../options/limits.ts'
import type { FeatureOptions, Options } from '../../options/options.ts'
import { assertLevel } from '../../options/resolve.ts'
import { type Checked, feature, text } from '../../options/schema.ts'

const features = {
  /**
   * Users set up an authenticator app (TOTP), and the built-in page asks those who have for its code:
   * docs/second-factor.md#authenticator-apps. Not together with `login.url` or `login.secondFactor`.
   */
  authenticatorApps: feature({
    /** The authentication level of a login with a code, one of `acrValues`. @default none */
    acr: text(),
  }),
}

const quotas = {
  /**
   * Codes that are sent to one user as a second factor. Each browser in which the user has signed in before counts by itself.
   */
  secondFactorSend: limit(10, 3600),
}

type Features = typeof features
type Quotas = typeof quotas

declare module '../../options/options.ts' {
  interface FeatureSchemas extends Features {}
  interface QuotaSchemas extends Quotas {}
}

/** The checked option `features.authenticatorApps`. */
export type AuthenticatorOption = NonNullable<Checked<Features['authenticatorApps']>>

/** The host decides about second factors, or Latchkey keeps them. */
export type SecondFactorOption =
  | { readonly apps: AuthenticatorOption; readonly ask?: undefined }
  | { readonly apps?: undefined; readonly ask: NonNullable<Options['login']['secondFactor']> }

const check = (options: Options): void => {
  const { authenticatorApps } = options.features
  if (authenticatorApps === undefined) return
  if (options.login.url !== undefined || options.login.secondFactor !== undefined) {
    refuse(
      'features.authenticatorApps cannot be used with login.url or login.secondFactor, which ask for a second factor themselves',
    )
  }
  assertLevel('features.authenticatorApps.acr', authenticatorApps.acr, options)
}

export const option: FeatureOptions = { features, quotas, check }
