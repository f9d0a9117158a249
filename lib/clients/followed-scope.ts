import { transaction } from '../database/transaction.ts'
import type { Database } from '../database/types.ts'
import type { Options } from '../options/resolve.ts'
import type { Client } from '../protocol/client.ts'
import { findClient, updateClient } from '../repositories/clients.ts'
import { selfDescribedScopes } from './self-described.ts'

/** The part of the server that knows its resources. */
interface ScopeContext {
  readonly options: Pick<Options, 'resources'>
  readonly database: Database
  now(): number
}

/**
 * A client that described itself, with the scopes that it may request today. They are stored, so that reading the client
 * costs nothing more, and stored again at its next authorization request after the host has changed its resources.
 */
export const withFollowedScope = async (
  { options, database, now: clock }: ScopeContext,
  client: Client,
): Promise<Client> => {
  const scope = selfDescribedScopes(options).join(' ')
  if (client.metadata.scope === scope) return client
  const { clientId } = client
  await transaction(database, async (tx) => {
    const now = clock()
    const found = await findClient(tx, { clientId, now })
    if (found?.metadata.scope_follows_resources === undefined) return
    await updateClient(tx, { clientId, metadata: { ...found.metadata, scope }, secretHash: undefined, now })
  })
  return { ...client, metadata: { ...client.metadata, scope } }
}
