import type { Options } from '../../options/options.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { standardScopes } from '../../protocol/scope.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import { lockClient, updateClient } from '../../storage/repositories/clients.ts'
import { type Installed, selfDescriptionsIn } from './client-data.ts'

/**
 * The scopes of a client whose scope follows the resources: the standard ones and those of all resources. What it
 * registered as `scope` is not a limit: clients register with the scopes of the first challenge, and need more later.
 *
 * @param withheld scopes that the host keeps from the client
 */
export const scopesOfAllResources = (
  { resources }: Pick<Options, 'resources'>,
  withheld: readonly string[] = [],
): readonly string[] =>
  [...new Set([...standardScopes, ...Object.values(resources).flatMap(({ scopes }) => scopes)])].filter(
    (scope) => !withheld.includes(scope),
  )

/** The part of the server that knows its resources. */
interface ScopeContext {
  readonly options: Options
  readonly installed: Installed
  readonly database: Database
  now(): number
}

/**
 * A client with the scopes that it may request today. Where they follow the resources they are stored, so that reading the
 * client costs nothing more, and stored again at its next authorization request after the host has changed its resources.
 */
export const withCurrentScope = async (
  { options, installed, database, now: clock }: ScopeContext,
  client: Client,
): Promise<Client> => {
  if (client.metadata.scope_follows_resources === undefined) return client
  const withheld = selfDescriptionsIn(installed).flatMap((each) => each.withheldScopes(options, client))
  const scope = scopesOfAllResources(options, withheld).join(' ')
  if (client.metadata.scope === scope) return client
  const { clientId } = client
  await transaction(database, async (tx) => {
    const now = clock()
    const found = await lockClient(tx, { clientId, now })
    if (found?.metadata.scope_follows_resources === undefined) return
    await updateClient(tx, { clientId, metadata: { ...found.metadata, scope }, secretHash: undefined, now })
  })
  return { ...client, metadata: { ...client.metadata, scope } }
}
