import type { FeatureOptions } from '../../options/options.ts'
import { type Checked, callback, feature, required } from '../../options/schema.ts'
import type { WithRequest } from '../../options/users.ts'

const features = {
  /** Pages for administrators, at `/admin`: docs/admin.md. */
  admin: feature({
    /**
     * Says at each request who may use these pages, and is their only guard. Only `true` or the id of the administrator, which
     * events have as `actor`, allows the request.
     */
    allow: required(callback<(asked: WithRequest) => boolean | string | Promise<boolean | string>>()),
  }),
}

type Features = typeof features

declare module '../../options/options.ts' {
  interface FeatureSchemas extends Features {}
}

/** The checked option. */
export type AdminOption = NonNullable<Checked<Features['admin']>>

export const option: FeatureOptions = { features }
