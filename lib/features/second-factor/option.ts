import type { LoginOptions, TotpLoginOptions } from '../../options/options.ts'

/** The checked options: the host decides about second factors, or Latchkey keeps them. */
export type SecondFactorOption =
  | { readonly totp: TotpLoginOptions; readonly ask?: undefined }
  | { readonly totp?: undefined; readonly ask: NonNullable<LoginOptions['secondFactor']> }
