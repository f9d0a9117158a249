import { refuse } from '../../options/check.ts'
import { limit } from '../../options/limits.ts'
import type { FeatureOptions, Options } from '../../options/options.ts'
import { feature, flag } from '../../options/schema.ts'

const features = {
  /** Pushed authorization requests at `/par` (RFC 9126): docs/clients.md#pushed-requests. */
  pushedRequests: feature({
    /** Refuses every other authorization request. */
    required: flag(false),
  }),
}

const failures = {
  /** Failed client authentication at `/par`, for one client from one address. */
  par: limit(30, 60),
}

const quotas = {
  /** Requests of public clients at `/par` from one address. */
  pushedRequest: limit(60, 60),
}

type Features = typeof features
type Failures = typeof failures
type Quotas = typeof quotas

declare module '../../options/options.ts' {
  interface FeatureSchemas extends Features {}
  interface FailureSchemas extends Failures {}
  interface QuotaSchemas extends Quotas {}
}

/** The option, complete. */
export interface PushedRequestOption {
  /** Whether every authorization request must be pushed. */
  readonly isRequired: boolean
  /** Seconds for which a browser can open a pushed request. */
  readonly lifetime: number
}

const check = ({ features: { pushedRequests, fapi2 } }: Options): void => {
  if (fapi2 && !pushedRequests?.required)
    refuse('features.pushedRequests must be { required: true } with features.fapi2')
}

export const option: FeatureOptions = { features, failures, quotas, check }
