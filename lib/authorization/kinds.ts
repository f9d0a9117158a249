import { authorizeKind } from './authorize-kind.ts'
import type { PendingRequestKind } from './pending-request-kind.ts'

/** Every kind of request that a user can be asked about. */
export const pendingRequestKinds: readonly PendingRequestKind[] = [authorizeKind]

/** The kind of a stored request; one that this version does not know is continued by a newer process. */
export const kindNamed = (name: string): PendingRequestKind | undefined =>
  pendingRequestKinds.find((kind) => kind.name === name)
