import { definitionsOf } from '../../../features/feature.ts'
import { describeRules } from '../../../options/development.ts'
import type { Options } from '../../../options/options.ts'
import { silenceAll } from '../../../storage/database/driver.ts'
import { reasonOf } from '../../../storage/database/errors.ts'
import { databaseLocation, lacksFile } from '../../../storage/database/location.ts'
import { type OpenedDatabase, openDatabase } from '../../../storage/database/open.ts'
import { installedSqlite } from '../../../storage/database/sqlite-version.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import {
  type Diagnosis,
  diagnoseConfiguration,
  diagnoseDatabase,
  diagnoseMcp,
  diagnoseMount,
  diagnoseProxy,
  type Level,
  type McpDiagnosis,
  mcpHosts,
  openMount,
  type PlayedHost,
  requestAnswer,
  StoppedError,
  type Subject,
  UnreachableError,
  untilStopped,
  withoutConsequences,
} from '../../doctor/index.ts'
import { loadOptions } from '../config.ts'
import { type Line, print, printJson, printNote, styled, table } from '../terminal.ts'
import { loadTools } from '../tools.ts'

const now = (): number => Math.floor(Date.now() / 1000)

const unavailable = (location: string, reason: string): Diagnosis => ({
  check: 'database',
  level: 'error',
  message: `the database ${location} is not available: ${reason}`,
  fix: 'start it, and compare the option database with it',
})

const ofOpenDatabase = async (
  { database, hostKnex }: OpenedDatabase,
  subject: Subject,
): Promise<Diagnosis[]> => {
  const location = databaseLocation(hostKnex)
  printNote(`database: ${location}`)
  if (lacksFile(hostKnex)) return [unavailable(location, 'the file does not exist')]
  try {
    return await diagnoseDatabase({ ...subject, database, hostKnex })
  } catch (error) {
    return [unavailable(location, reasonOf(error))]
  }
}

const ofDatabase = async (options: Options, subject: Subject): Promise<Diagnosis[]> => {
  const opened = openDatabase(options.database.knex, options.database.tablePrefix, options.database)
  silenceAll(opened.hostKnex)
  try {
    return await ofOpenDatabase(opened, subject)
  } finally {
    await opened.hostKnex.destroy()
  }
}

/** Checks the running server, at the issuer if no URL was given. */
const ofMount = async (url: string | undefined, subject: Subject): Promise<Diagnosis[]> => {
  const { options } = subject
  try {
    return await untilStopped(async () => {
      const mount = await openMount(url ?? options.issuer, options, now)
      const isPastProxy = mount.url.startsWith('http:') && options.issuer.startsWith('https:')
      printNote(`server: ${mount.url}${isPastProxy ? ', past the proxy, which is not checked' : ''}`)
      return diagnoseMount({ ...subject, mount }, await loadTools(definitionsOf(options)))
    })
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error
    if (url !== undefined) throw new UsageError(error.message)
    printNote(`${error.message}; without a running server, only the configuration was checked`)
    return []
  }
}

const styles: Readonly<Record<Level, 'red' | 'yellow' | 'blue'>> = {
  error: 'red',
  warning: 'yellow',
  note: 'blue',
}

const shown = ({ check, level, message, fix }: Diagnosis): (string | Line)[] => [
  styled(styles[level], level, `  ${message} (${check})`),
  `  fix: ${fix}`,
]

const assertUrl = (name: string, url: string): void => {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`${name} must begin with https:// or http://`)
}

/** The positional argument, which is optional. */
const urlOf = (invocation: Invocation): string | undefined => {
  const [url, second] = invocation.arguments
  if (second !== undefined) throw new UsageError(`unexpected argument ${second}; see: latchkey doctor --help`)
  if (url !== undefined) assertUrl('URL', url)
  return url
}

const hostIds = mcpHosts.map(({ id }) => id).join(', ')

const checkInvocation = (invocation: Invocation): void => {
  const url = urlOf(invocation)
  const mcp = invocation.text('mcp')
  const asked = invocation.texts('host') ?? []
  if (mcp === undefined) {
    if (asked.length > 0 || invocation.text('client') !== undefined)
      throw new UsageError('--host and --client belong to --mcp URL')
    return
  }
  assertUrl('--mcp', mcp)
  if (url !== undefined) throw new UsageError('--mcp takes the only URL')
  const unknown = asked.find((id) => !mcpHosts.some((host) => host.id === id))
  if (unknown !== undefined) throw new UsageError(`--host ${unknown} is unknown; the hosts are ${hostIds}`)
}

/** The environment of a server at the URL: its port may come from a file such as `.env`, which this command does not read. */
const environmentOf = (url: string | undefined): NodeJS.ProcessEnv =>
  url === undefined ? process.env : { ...process.env, PORT: new URL(url).port }

/** @throws UsageError for exit code 2: a mistake that was found has exit code 1 */
const load = async (invocation: Invocation): Promise<Options> => {
  try {
    const { options, file } = await loadOptions(
      invocation.text('config'),
      { changesNothing: true },
      environmentOf(urlOf(invocation)),
    )
    printNote(`configuration: ${file ?? 'default options: this folder has no configuration file'}`)
    printNote(`rules: ${describeRules(process.env, options)}`)
    return options
  } catch (error) {
    throw new UsageError(reasonOf(error), { cause: error })
  }
}

const diagnose = async (invocation: Invocation): Promise<Diagnosis[]> => {
  const options = await load(invocation)
  const subject = { options, now, versions: { node: process.versions.node, sqlite: installedSqlite() } }
  const found = [...(await diagnoseConfiguration(subject)), ...(await diagnoseProxy(subject))]
  // A driver that this Node cannot run may crash the process.
  if (!found.some(({ check }) => check === 'driver')) found.push(...(await ofDatabase(options, subject)))
  return withoutConsequences([...found, ...(await ofMount(urlOf(invocation), subject))])
}

const ofMcp = async (url: string, invocation: Invocation): Promise<McpDiagnosis> => {
  const asked = invocation.texts('host')
  const hosts = asked === undefined ? mcpHosts : mcpHosts.filter(({ id }) => asked.includes(id))
  try {
    return await diagnoseMcp(url, { ask: requestAnswer, now, hosts, clientId: invocation.text('client') })
  } catch (error) {
    if (error instanceof StoppedError) return { hosts: [], findings: [error.diagnosis] }
    throw error instanceof UnreachableError ? new UsageError(error.message, { cause: error }) : error
  }
}

const stopOf = ({ stop }: PlayedHost): string =>
  stop === undefined ? 'reaches the sign-in' : `stops at the step ${stop.step} (${stop.cause.name})`

const hostAsJson = ({ host: { id, name }, stop }: PlayedHost): object => ({
  id,
  name,
  reachesSignIn: stop === undefined,
  ...(stop && { stopped: { step: stop.step, cause: stop.cause.name } }),
})

/** Prints the findings, and fails if there is an error among them. */
const conclude = (found: readonly Diagnosis[], invocation: Invocation, json: unknown): void => {
  if (invocation.flag('json')) printJson(json)
  else if (found.length === 0) printNote('no mistakes were found')
  else print(...found.flatMap(shown))
  const errors = found.filter(({ level }) => level === 'error').length
  if (errors > 0) throw new Error(errors === 1 ? '1 error was found' : `${errors} errors were found`)
}

const runMcp = async (url: string, invocation: Invocation): Promise<void> => {
  const { hosts, findings } = await ofMcp(url, invocation)
  if (!invocation.flag('json') && hosts.length > 0)
    print(...table(hosts.map((each) => [each.stop ? '✗' : '✓', each.host.name, stopOf(each)])), '')
  conclude(findings, invocation, { hosts: hosts.map(hostAsJson), findings })
}

/** `latchkey doctor` */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'looks for mistakes in the configuration, the database and the running server',
  rest: '[URL]',
  details:
    'URL is where the server is mounted; the issuer by default. Behind a proxy you can also name the app itself,\n' +
    'such as http://localhost:3000/oauth. Run it with the secrets of the server, so that the server reports about\n' +
    'itself. It changes nothing; its requests appear in the log of the server.\n' +
    'With --mcp it needs no configuration: it registers as each host does, goes up to the sign-in, and removes the\n' +
    'registration again.\n' +
    'The exit code is 1 if an error was found, and 2 if the checks could not run.',
  options: {
    json: { help: 'print JSON' },
    mcp: { value: 'URL', help: 'play the requests of MCP hosts against this MCP server, and nothing else' },
    host: { value: 'ID', multiple: true, help: `with --mcp: only this host, of ${hostIds}` },
    client: { value: 'ID', help: 'with --mcp: whether the server still knows this client of an app' },
  },
  example: 'latchkey doctor https://app.example.com/oauth',
  check: checkInvocation,
  async runAlone(invocation) {
    const mcp = invocation.text('mcp')
    if (mcp !== undefined) return runMcp(mcp, invocation)
    const found = await diagnose(invocation)
    conclude(found, invocation, found)
  },
}
