import type { AuthRouterOptions } from '../../options/options.ts'

/** Says whether a request may use the admin pages. */
export type AdminOption = NonNullable<AuthRouterOptions['admin']>
