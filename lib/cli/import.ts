import { type ClientImport, importClients, type Remark } from '../clients/import/import-clients.ts'
import { importRefreshTokens, type TokenImport } from '../clients/import/import-refresh-tokens.ts'
import type { HexMeaning, Peer } from '../clients/import/imported.ts'
import { peers } from '../clients/import/peers.ts'
import { type Command, type CommandContext, type Invocation, UsageError } from '../command.ts'
import { registrableOf } from '../options/registrable.ts'
import { printDifferences } from './clients.ts'
import { suggest } from './command-line.ts'
import { type OpenedSource, openSource } from './import-source.ts'
import { type Say, withProgress } from './progress.ts'
import { note, print } from './terminal.ts'

const names = peers.map(({ name }) => name)

const peerOf = ({ arguments: [given = ''] }: Invocation): Peer => {
  const peer = peers.find(({ name }) => name === given)
  if (peer !== undefined) return peer
  const nearest = suggest(given, names)
  throw new UsageError(
    `import cannot read ${given}; ${nearest ? `did you mean ${nearest}?` : `it reads ${names.join(', ')}`}`,
  )
}

const fromOf = (invocation: Invocation): string => {
  const from = invocation.text('from') ?? process.env.LATCHKEY_IMPORT_FROM
  if (from !== undefined && from !== '') return from
  throw new UsageError('import needs --from: the SQLite file or the URL of the database of the other server')
}

const scopesOf = (invocation: Invocation): string[] | undefined =>
  invocation.texts('scope')?.flatMap((words) => words.split(' ').filter(Boolean))

const hexOf = (invocation: Invocation): HexMeaning | undefined => {
  const given = invocation.text('hex')
  if (given === undefined || given === 'plain' || given === 'sha256') return given
  throw new UsageError('--hex must be plain or sha256')
}

/** What an import did, or would do. */
interface Imported extends ClientImport {
  readonly refreshTokens?: TokenImport
}

const runImport = async (
  { database, options, installed, now }: CommandContext,
  source: OpenedSource,
  peer: Peer,
  invocation: Invocation,
  say: Say,
): Promise<Imported> => {
  const registrable = registrableOf(options)
  const scopes = scopesOf(invocation)
  const settings = { table: invocation.text('table'), scopes }
  const how = { dryRun: invocation.flag('dry-run'), hex: hexOf(invocation) }
  const clients = await importClients({ database, now, installed }, await peer.clients(source, settings), {
    ...{ registrable, scopes: scopes ?? registrable.scopes, ...how },
    progress: (done) => say(`imported ${done} clients`),
  })
  if (!invocation.flag('refresh-tokens') || peer.refreshTokens === undefined) return clients
  const { lifetimes } = options
  const tokens = peer.refreshTokens(source, settings)
  const refreshTokens = await importRefreshTokens({ database, now }, tokens, {
    ...{ clients: clients.clients, lifetimes, ...how },
    progress: (done) => say(`read ${done} refresh tokens`),
  })
  return { ...clients, refreshTokens }
}

const printRemarks = (sign: string, remarks: readonly Remark[]): void => {
  for (const { client_id, remark } of remarks) print(`${sign} ${client_id}: ${remark}`)
}

const printTokens = ({ imported, known, refused }: TokenImport): void => {
  print(`refresh tokens: ${imported} new, ${known} already here`)
  for (const [reason, count] of Object.entries(refused)) print(`! ${count} refresh tokens: ${reason}`)
}

const asJson = ({ differences, refused, ignored, notes, refreshTokens }: Imported): string =>
  JSON.stringify(
    {
      clients: differences,
      refused,
      ignored,
      notes,
      ...(refreshTokens && { refresh_tokens: refreshTokens }),
    },
    null,
    2,
  )

const printImport = (imported: Imported, invocation: Invocation): void => {
  if (invocation.flag('json')) {
    print(asJson(imported))
    return
  }
  printDifferences(imported.differences)
  printRemarks('! refuse', imported.refused)
  printRemarks('  ignore', imported.ignored)
  printRemarks('  note', imported.notes)
  if (imported.refreshTokens) printTokens(imported.refreshTokens)
}

/** `latchkey import` */
export const importCommand: Command = {
  name: 'import',
  summary: 'imports clients and refresh tokens from the database of another server',
  arguments: ['SERVER'],
  usage: '--from FILE|URL',
  details:
    `SERVER is ${names.join(', ')}. Its database is only read. Clients keep their ids and\n` +
    'secrets; a second run changes nothing. The exit code is 1 if a client cannot be imported; the others are. No secret\n' +
    'is printed. The URL may also come from LATCHKEY_IMPORT_FROM: other users of the machine can read arguments.',
  options: {
    from: { type: 'string', value: 'FILE|URL', help: 'the SQLite file or the URL of its database' },
    'dry-run': { type: 'boolean', help: 'only print what would change' },
    'refresh-tokens': { type: 'boolean', help: 'import refresh tokens too, so that users stay signed in' },
    scope: {
      type: 'string',
      multiple: true,
      value: 'SCOPES',
      help: 'the scopes of clients without a list of their own; all scopes by default',
    },
    hex: {
      type: 'string',
      value: 'plain|sha256',
      help: 'what 64 hexadecimal digits in the database are: the secret or token itself, or its SHA-256',
    },
    table: { type: 'string', value: 'TABLE', help: 'the table of oidc-provider, if it has another name' },
    json: { type: 'boolean', help: 'print JSON' },
  },
  example: 'latchkey import doorkeeper --from postgres://localhost/rails --refresh-tokens --dry-run',
  check(invocation) {
    peerOf(invocation)
    fromOf(invocation)
    hexOf(invocation)
  },
  async run(context, invocation) {
    const peer = peerOf(invocation)
    const source = openSource(fromOf(invocation))
    try {
      note(`reading: ${source.location}`)
      const imported = await withProgress((say) => runImport(context, source, peer, invocation, say))
      printImport(imported, invocation)
      if (invocation.flag('refresh-tokens') && peer.keepsTokens) note(peer.keepsTokens)
      const { length } = imported.refused
      if (length > 0)
        throw new Error(
          `${length} ${length === 1 ? 'client' : 'clients'} cannot be imported; the reasons are above`,
        )
    } finally {
      await source.close()
    }
  },
}
