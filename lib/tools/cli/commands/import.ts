import { existsSync } from 'node:fs'
import { registrableOf } from '../../../options/registrable.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import type { TokenImport } from '../../import/import-refresh-tokens.ts'
import {
  type ImportSettings,
  importServer,
  type Remark,
  type ServerImport,
} from '../../import/import-server.ts'
import { type Preset, parseMap, type StoredForm, type TableMaps } from '../../import/map.ts'
import { presets } from '../../import/presets/index.ts'
import { openSource, type Source } from '../../import/source-database.ts'
import { suggest } from '../command-line.ts'
import { loadDefaultExport } from '../config.ts'
import { namedDatabase } from '../named-database.ts'
import { withProgress } from '../progress.ts'
import { print, printJson, printNote } from '../terminal.ts'
import { printDifferences } from './clients.ts'

const names = presets.map(({ name }) => name)

/** The preset that the command names; undefined with `--map`. */
const presetOf = (invocation: Invocation): Preset | undefined => {
  const [given, ...others] = invocation.arguments
  const isMapped = invocation.text('map') !== undefined
  if (others.length > 0 || isMapped === (given !== undefined))
    throw new UsageError(`import needs --map or the name of one server: ${names.join(', ')}`)
  if (given === undefined) return undefined
  const preset = presets.find(({ name }) => name === given)
  if (preset !== undefined) return preset
  const nearest = suggest(given, names)
  throw new UsageError(
    `import cannot read ${given}; ${nearest ? `did you mean ${nearest}?` : `it reads ${names.join(', ')}, and others by --map`}`,
  )
}

const mapsOf = async (invocation: Invocation): Promise<TableMaps> => {
  const preset = presetOf(invocation)
  if (preset) return preset.maps({ table: invocation.text('table'), ...settingsOf(invocation) })
  const maps = parseMap(await loadDefaultExport(invocation.text('map') ?? '', 'an object with clients'))
  if (invocation.flag('refresh-tokens') && maps.refreshTokens.length === 0)
    throw new UsageError('--refresh-tokens needs refreshTokens in the map')
  return maps
}

const fromOf = (invocation: Invocation): string => {
  const from = invocation.text('from') ?? process.env.LATCHKEY_IMPORT_FROM
  if (from !== undefined && from !== '') return from
  throw new UsageError('import needs --from: the SQLite file or the URL of the database of the other server')
}

const scopesOf = (invocation: Invocation): string[] | undefined =>
  invocation.texts('scope')?.flatMap((words) => words.split(' ').filter(Boolean))

const hexOf = (invocation: Invocation): StoredForm | undefined => {
  const given = invocation.text('hex')
  if (given === undefined || given === 'plain' || given === 'sha256') return given
  throw new UsageError('--hex must be plain or sha256')
}

const sourceOf = (invocation: Invocation): Source => {
  const from = fromOf(invocation)
  const { settings } = namedDatabase(from, '--from')
  if (settings.client === 'better-sqlite3' && !existsSync(from)) throw new Error(`${from} does not exist`)
  return openSource(settings)
}

const settingsOf = (invocation: Invocation): ImportSettings => ({
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
  rest: '[SERVER]',
  usage: '--from FILE|URL',
  details:
    `SERVER is ${names.join(', ')}; --map reads other tables. The database is\n` +
    'only read. Clients keep their ids and secrets; a second run changes nothing. The exit code is 1 if a client cannot be\n' +
    'imported; the others are. No secret is printed. The URL may also come from LATCHKEY_IMPORT_FROM: other users of the\n' +
    'machine can read arguments.',
  options: {
    map: { value: 'FILE', help: 'a module that names the tables and columns of a server of your own' },
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
    presetOf(invocation)
    fromOf(invocation)
    hexOf(invocation)
  },
  async run({ database, options, installed, now, events }, invocation) {
    const maps = await mapsOf(invocation)
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
      printNote(`reading: ${source.location}`)
      const imported = await withProgress((progress) =>
        importServer({ ...target, progress }, maps, source, settingsOf(invocation)),
      )
      printImport(imported, invocation)
      const { keepsTokens } = presetOf(invocation) ?? {}
      if (invocation.flag('refresh-tokens') && keepsTokens) printNote(keepsTokens)
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
