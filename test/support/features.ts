import { everyFunction } from '../../lib/features/every.ts'
import { definitionsIn } from '../../lib/features/feature.ts'
import type { AuthRouter } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { expiredOf, migrationsOf } from '../../lib/storage/schema.ts'

/** A list that keeps what every feature stores. */
export const kept = [...everyFunction.values()].map((made) => made.off())

export const everyFeature = definitionsIn(kept)

/** The migrations of the core and of every feature. */
export const migrations = migrationsOf(everyFeature)

/** What removes the expired rows of every table. */
export const expired = expiredOf(everyFeature)

/** What removes the expired rows of a server. */
export const expiredIn = (oauth: AuthRouter) => expiredOf(serverBehind(oauth)!.installed)
