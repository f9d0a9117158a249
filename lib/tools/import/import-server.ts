import {
  type ApplyContext,
  applyClients,
  type ClientDifference,
  planClients,
} from '../../oauth/clients/plan.ts'
import type { Lifetimes } from '../../options/lifetimes.ts'
import type { ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { type ClientRules, checkedImport, type ImportedClient } from './checked-client.ts'
import { importRefreshTokens, type TokenImport } from './import-refresh-tokens.ts'
import type { SourceSettings, TableMaps } from './map.ts'
import { readClients, readRefreshTokens } from './read-tables.ts'
import type { Source } from './source-database.ts'

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
  const checked = clients.map((client) => ({ client_id: client.clientId, ...checkedImport(client, rules) }))
  const registrations = checked.flatMap(({ registration }) => registration ?? [])
  const unlisted = 'ignore'
  const apply = async () => {
    const settings = { unlisted, keepPreviousFor: 0, ...(progress && { progress }) } as const
    return (await applyClients(context, registrations, settings)).differences
  }
  const remarks = (name: 'refusal' | 'ignored'): Remark[] =>
    checked.flatMap(({ client_id, [name]: remark }) => (remark === undefined ? [] : { client_id, remark }))
  return {
    differences: dryRun ? await planClients(context, registrations, { unlisted }) : await apply(),
    clients: new Map(registrations.map(({ clientId, metadata }) => [clientId, metadata])),
    refused: remarks('refusal'),
    ignored: remarks('ignored'),
    notes: checked.flatMap(({ client_id, notes = [] }) => notes.map((remark) => ({ client_id, remark }))),
  }
}

/** The result of an import, or of a dry run. */
export interface ServerImport extends ClientImport {
  readonly refreshTokens?: TokenImport
}

/** The choices of the operator. */
export interface ImportSettings extends Pick<SourceSettings, 'scopes' | 'hex'> {
  readonly refreshTokens: boolean
  /** Only says what it would do. */
  readonly dryRun: boolean
}

interface Target extends ApplyContext, Pick<ClientRules, 'registrable'> {
  readonly lifetimes: Lifetimes
  /** Is called with how far the import is. */
  progress?(text: string): void
}

/**
 * Imports the clients of another server, and its refresh tokens if they are wanted and its tables have them.
 *
 * @param settings.scopes of clients and tokens without scopes of their own; clients have every scope of the options by default
 * @throws Error that names the table or the column that the other server lacks
 */
export const importServer = async (
  { registrable, lifetimes, progress, ...context }: Target,
  maps: TableMaps,
  source: Source,
  { scopes, hex, refreshTokens, dryRun }: ImportSettings,
): Promise<ServerImport> => {
  const read = await readClients(source, maps.clients)
  const settings = { registrable, scopes: scopes ?? registrable.scopes, lifetimes, hex, dryRun }
  const described = read.map(({ client }) => client)
  const imported = await importClients(context, described, {
    ...settings,
    progress: (done) => progress?.(`imported ${done} clients`),
  })
  if (!refreshTokens || maps.refreshTokens.length === 0) return imported
  const tokens = readRefreshTokens(source, maps.refreshTokens, read, scopes)
  const { clients } = imported
  const added = await importRefreshTokens(context, tokens, {
    ...settings,
    clients,
    progress: (done) => progress?.(`read ${done} refresh tokens`),
  })
  return { ...imported, refreshTokens: added }
}
