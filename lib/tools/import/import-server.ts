import type { ApplyContext } from '../../oauth/clients/plan.ts'
import type { Lifetimes } from '../../options/lifetimes.ts'
import type { Registrable } from '../../options/registrable.ts'
import { type ClientImport, importClients } from './import-clients.ts'
import { importRefreshTokens, type TokenImport } from './import-refresh-tokens.ts'
import type { HexMeaning, Peer } from './imported.ts'
import type { Source } from './source.ts'

/** The result of an import, or of a dry run. */
export interface ServerImport extends ClientImport {
  readonly refreshTokens?: TokenImport
}

/** The choices of the operator. */
export interface ImportSettings {
  /** The table of models, if it has an unusual name. */
  readonly table?: string | undefined
  /** Scopes of clients without a list of their own. @default every scope of the options */
  readonly scopes?: readonly string[] | undefined
  readonly hex?: HexMeaning | undefined
  readonly refreshTokens: boolean
  /** Only says what it would do. */
  readonly dryRun: boolean
}

interface Target extends ApplyContext {
  readonly registrable: Registrable
  readonly lifetimes: Lifetimes
  /** Is called with how far the import is. */
  progress?(text: string): void
}

/**
 * Imports the clients of another server, and its refresh tokens if they are wanted and its tables have them.
 *
 * @throws Error that names the table or the column that the other server lacks
 */
export const importServer = async (
  { registrable, lifetimes, progress, ...context }: Target,
  peer: Peer,
  source: Source,
  { table, scopes, hex, refreshTokens, dryRun }: ImportSettings,
): Promise<ServerImport> => {
  const clients = await importClients(context, await peer.clients(source, { table, scopes }), {
    registrable,
    scopes: scopes ?? registrable.scopes,
    dryRun,
    hex,
    progress: (done) => progress?.(`imported ${done} clients`),
  })
  if (!refreshTokens || peer.refreshTokens === undefined) return clients
  const tokens = peer.refreshTokens(source, { table, scopes })
  const imported = await importRefreshTokens(context, tokens, {
    clients: clients.clients,
    lifetimes,
    dryRun,
    hex,
    progress: (done) => progress?.(`read ${done} refresh tokens`),
  })
  return { ...clients, refreshTokens: imported }
}
