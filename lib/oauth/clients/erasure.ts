import type { Database } from '../../storage/database/types.ts'
import { beginDeletion, deleteClient, listClientsBeingDeleted } from '../../storage/repositories/clients.ts'
import { removeImportedSecret } from '../../storage/repositories/imported-secrets.ts'
import type { Removal } from '../../storage/repositories/pruning/batch.ts'
import { removeDataOfClient } from '../../storage/repositories/pruning/clients.ts'
import type { RemoveExpired } from '../../storage/repositories/pruning/expired.ts'
import { clientDataIn } from './client-data.ts'
import { type ClientRegistry, refuseUnknownClient } from './register.ts'

/** Removes a client whose deletion has begun, with everything about it. It can be repeated after an error. */
const removeClient = async function* (
  database: Database,
  { installed }: Pick<ClientRegistry, 'installed'>,
  clientId: string,
): Removal {
  yield* removeDataOfClient(database, { clientId })
  for (const data of clientDataIn(installed)) await data.erase(database, clientId)
  await removeImportedSecret(database, { clientId })
  await deleteClient(database, { clientId })
  yield { table: 'clients', count: 1 }
}

/**
 * Ends the access of a client whose deletion begins. Pruning finishes it if {@link eraseClient} does not.
 *
 * @throws OAuthError `invalid_client` for an unknown client
 */
export const beginErasure = async (
  { database, now }: Pick<ClientRegistry, 'database' | 'now'>,
  clientId: string,
): Promise<void> => {
  if (!(await beginDeletion(database, { clientId, now: now() }))) refuseUnknownClient(clientId)
}

/**
 * Deletes a client with its consents, authorizations and tokens. It is disabled first, so that access ends at once. If this
 * is interrupted, pruning finishes it.
 *
 * @throws OAuthError `invalid_client` for an unknown client
 */
export const eraseClient = async (
  registry: Pick<ClientRegistry, 'database' | 'now' | 'installed'>,
  clientId: string,
): Promise<void> => {
  await beginErasure(registry, clientId)
  for await (const _ of removeClient(registry.database, registry, clientId));
}

/** Finishes the deletions of clients that were interrupted. */
export const finishDeletions = (context: Pick<ClientRegistry, 'installed'>): RemoveExpired =>
  async function* (database) {
    let ids: readonly string[]
    do {
      ids = await listClientsBeingDeleted(database)
      for (const clientId of ids) yield* removeClient(database, context, clientId)
    } while (ids.length > 0)
  }
