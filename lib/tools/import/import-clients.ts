import {
  type ApplyContext,
  applyClients,
  type ClientDifference,
  planClients,
} from '../../oauth/clients/plan.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { type ClientRules, checkedImport } from './checked-client.ts'
import type { ImportedClient } from './imported.ts'

/** A client, and a sentence about it. */
export interface Remark {
  readonly client_id: string
  readonly remark: string
}

/** The result of importing clients, or of a dry run. It contains no secret. */
export interface ClientImport {
  readonly differences: readonly ClientDifference[]
  /** The metadata of the imported clients, by their ids. */
  readonly clients: ReadonlyMap<string, ClientMetadata>
  /** Clients that cannot be imported, each with the reason. */
  readonly refused: readonly Remark[]
  /** Clients that are not worth importing, such as revoked ones. */
  readonly ignored: readonly Remark[]
  /** Abilities that imported clients had there and do not have here. */
  readonly notes: readonly Remark[]
}

/**
 * Imports clients of another server with their ids and secrets, in one transaction. Clients that it has imported before and
 * that are the same are not written; clients that only Latchkey has stay.
 *
 * @param options.dryRun only says what it would do
 * @param options.progress is called after each client with how many are done
 */
export const importClients = async (
  context: ApplyContext,
  clients: readonly ImportedClient[],
  {
    dryRun,
    progress,
    ...rules
  }: ClientRules & { readonly dryRun: boolean; progress?: (done: number) => void },
): Promise<ClientImport> => {
  const checked = clients.map((client) => ({ client_id: client.clientId, of: checkedImport(client, rules) }))
  const registrations = checked.flatMap(({ of }) => ('registration' in of ? of.registration : []))
  const differences = dryRun
    ? await planClients(context, registrations, { unlisted: 'ignore' })
    : (
        await applyClients(context, registrations, {
          unlisted: 'ignore',
          keepPreviousFor: 0,
          ...(progress && { progress }),
        })
      ).differences
  return {
    differences,
    clients: new Map(registrations.map(({ clientId, metadata }) => [clientId, metadata])),
    refused: checked.flatMap(({ client_id, of }) =>
      'refusal' in of ? { client_id, remark: of.refusal } : [],
    ),
    ignored: checked.flatMap(({ client_id, of }) =>
      'ignored' in of ? { client_id, remark: of.ignored } : [],
    ),
    notes: checked.flatMap(({ client_id, of }) =>
      'notes' in of ? of.notes.map((remark) => ({ client_id, remark })) : [],
    ),
  }
}
