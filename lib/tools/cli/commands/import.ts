import { existsSync } from 'node:fs'
import { registrableOf } from '../../../options/registrable.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import type { Remark } from '../../import/import-clients.ts'
import type { TokenImport } from '../../import/import-refresh-tokens.ts'
import { type ImportSettings, importServer, type ServerImport } from '../../import/import-server.ts'
import type { HexMeaning, Peer } from '../../import/imported.ts'
import { peers } from '../../import/peers.ts'
import { type OpenedSource, openSource } from '../../import/source-database.ts'
import { suggest } from '../command-line.ts'
import { namedDatabase } from '../named-database.ts'
import { withProgress } from '../progress.ts'
import { note, print, printJson } from '../terminal.ts'
import { printDifferences } from './clients.ts'

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

const sourceOf = (invocation: Invocation): OpenedSource => {
  const from = fromOf(invocation)
  const { settings } = namedDatabase(from, '--from')
  if (settings.client === 'better-sqlite3' && !existsSync(from)) throw new Error(`${from} does not exist`)
  return openSource(settings)
}

const settingsOf = (invocation: Invocation): ImportSettings => ({
  table: invocation.text('table'),
  scopes: scopesOf(invocation),
  hex: hexOf(invocation),
  refreshTokens: invocation.flag('refresh-tokens'),
  dryRun: invocation.flag('dry-run'),
})

const printRemarks = (sign: string, remarks: readonly Remark[]): void => {
  for (const { client_id, remark } of remarks) print(`${sign} ${client_id}: ${remark}`)
}

const printTokens = ({ imported, known, refused }: TokenImport): void => {
  print(`refresh tokens: ${imported} new, ${known} already here`)
  for (const [reason, count] of Object.entries(refused)) print(`! ${count} refresh tokens: ${reason}`)
}

const asJson = ({ differences, refused, ignored, notes, refreshTokens }: ServerImport): object => ({
  clients: differences,
  refused,
  ignored,
  notes,
  ...(refreshTokens && { refresh_tokens: refreshTokens }),
})

const printImport = (imported: ServerImport, invocation: Invocation): void => {
  if (invocation.flag('json')) {
    printJson(asJson(imported))
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
    from: { value: 'FILE|URL', help: 'the SQLite file or the URL of its database' },
    'dry-run': { help: 'only print what would change' },
    'refresh-tokens': { help: 'import refresh tokens too, so that users stay signed in' },
    scope: {
      multiple: true,
      value: 'SCOPES',
      help: 'the scopes of clients without a list of their own; all scopes by default',
    },
    hex: {
      value: 'plain|sha256',
      help: 'what 64 hexadecimal digits in the database are: the secret or token itself, or its SHA-256',
    },
    table: { value: 'TABLE', help: 'the table of oidc-provider, if it has another name' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey import doorkeeper --from postgres://localhost/rails --refresh-tokens --dry-run',
  check(invocation) {
    peerOf(invocation)
    fromOf(invocation)
    hexOf(invocation)
  },
  async run({ database, options, installed, now, events }, invocation) {
    const peer = peerOf(invocation)
    const source = sourceOf(invocation)
    const target = {
      database,
      now,
      installed,
      events,
      registrable: registrableOf(options),
      lifetimes: options.lifetimes,
    }
    try {
      note(`reading: ${source.location}`)
      const imported = await withProgress((progress) =>
        importServer({ ...target, progress }, peer, source, settingsOf(invocation)),
      )
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
