// Compares Latchkey with its peers. Run: npm run bench -- [--quick] [--only <operation>] [--json <file>]
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { chart } from './chart.ts'
import { compare } from './compare.ts'
import { thisCheckout } from './compile.ts'
import { type Contestant, contestants } from './contestants.ts'
import { endurance } from './endurance.ts'
import { footprint } from './footprint.ts'
import { growth } from './growth.ts'
import { withLatency } from './latency.ts'
import { logins } from './logins.ts'
import { operations } from './operations/index.ts'
import { postgresLog } from './postgres-log.ts'
import { openBench, postgresProblem, postgresUrl } from './processes.ts'
import { profile } from './profiles.ts'
import { prune } from './prune.ts'
import { measureOperation, type Rate } from './rates.ts'
import { report } from './report.ts'
import { scale } from './scale.ts'
import { several } from './several.ts'
import { statements } from './statements.ts'

const usage = `npm run bench -- [measurements] [options]

measurements, one or more; rates by default:
  --rates        operations per second and processor time, in alternating rounds
  --statements   SQL statements of each operation
  --postgres-log FILE  statements of each operation in the log of PostgreSQL, with BEGIN and COMMIT
  --footprint    start-up time, memory when idle and with 32 concurrent requests
  --growth       size of the database for 10,000 code flows and client credentials tokens
  --scale        processor time with 1,000,000 token rows, divided by that with none
  --several      rates of one process and of four on one database
  --logins       the token endpoint while 200 people sign in at once
  --prune        removal of 1,000,000 expired rows during a refresh loop
  --endurance    memory and handles over 1,000,000 mixed requests
  --compare DIR  rates and processor time of Latchkey, divided by those of another checkout
  --profile DIR  a processor profile of each operation; of Latchkey on SQLite unless --server is given

options:
  --quick            shorter and less precise
  --only NAME        one operation: ${operations.map(({ name }) => name).join(', ')}; may be repeated
  --server NAME      one server: ${contestants.map(({ name }) => name).join(', ')}; may be repeated
  --rounds N  --seconds N  --concurrency N
  --latency MS       a round trip to PostgreSQL takes so many milliseconds longer
  --json FILE        all results as JSON
  --chart FILE       the rates as an SVG
`

const { values: flags } = parseArgs({
  options: {
    rates: { type: 'boolean', default: false },
    statements: { type: 'boolean', default: false },
    footprint: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    scale: { type: 'boolean', default: false },
    several: { type: 'boolean', default: false },
    logins: { type: 'boolean', default: false },
    prune: { type: 'boolean', default: false },
    endurance: { type: 'boolean', default: false },
    compare: { type: 'string' },
    'postgres-log': { type: 'string' },
    profile: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    server: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    concurrency: { type: 'string', default: '8' },
    latency: { type: 'string', default: '0' },
    json: { type: 'string' },
    chart: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const say = (text: string): void => console.log(text)

const chosen = <T extends { readonly name: string }>(all: readonly T[], names?: readonly string[]): T[] => {
  for (const name of names ?? []) {
    if (!all.some((one) => one.name === name)) throw new Error(`${name} does not exist\n\n${usage}`)
  }
  return all.filter(({ name }) => names === undefined || names.includes(name))
}

/** The selected servers, without PostgreSQL if it is unavailable. */
const available = async (): Promise<Contestant[]> => {
  const asked = chosen(contestants, flags.server)
  if (!asked.some(({ storage }) => storage === 'postgresql')) return asked
  const reason = await postgresProblem()
  if (reason !== undefined) say(`SKIPPED: Latchkey + PostgreSQL. ${reason}`)
  return asked.filter(({ storage }) => reason === undefined || storage !== 'postgresql')
}

const latency = Number(flags.latency)
const postgres = latency > 0 ? await withLatency(postgresUrl, latency) : postgresUrl
const bench = flags.help ? undefined : openBench(thisCheckout, postgres)

const settings = {
  rounds: Number(flags.rounds ?? (flags.quick ? 5 : 15)),
  seconds: Number(flags.seconds ?? (flags.quick ? 0.6 : 2)),
  concurrency: Number(flags.concurrency),
}

const rates = async (servers: readonly Contestant[]): Promise<Rate[]> => {
  if (!bench) return []
  const load = await bench.generator()
  const prepared = await Promise.all(servers.map((server) => bench.prepare(server)))
  const running = await Promise.all(prepared.map((server) => server.start()))
  const measured: Rate[] = []
  try {
    for (const operation of chosen(operations, flags.only)) {
      say(`measuring ${operation.name}`)
      measured.push(...(await measureOperation(running, load.ask, operation, settings)))
    }
  } finally {
    await Promise.all([load.stop(), ...running.map((server) => server.stop())])
    await Promise.all(prepared.map((server) => server.remove()))
  }
  return measured
}

const main = async (): Promise<void> => {
  if (!bench) return say(usage)
  const servers = await available()
  const asked = chosen(operations, flags.only)
  const { several: processes, logins: signIns, endurance: long } = flags
  const named = [
    flags.statements,
    flags.footprint,
    flags.growth,
    flags.scale,
    processes,
    signIns,
    long,
    flags.prune,
    flags.profile !== undefined,
    flags.compare !== undefined,
    flags['postgres-log'] !== undefined,
  ]
  const found: Record<string, unknown> = { machine: { node: process.version, processors: cpus().length } }
  const { quick } = flags
  if (flags.rates || !named.includes(true)) {
    const measured = await rates(servers)
    found.rates = measured
    say(`\n${report(asked, measured)}`)
    if (flags.chart !== undefined) writeFileSync(flags.chart, chart(asked, measured))
  }
  if (flags.statements) found.statements = await statements(bench, servers, asked, say)
  if (flags['postgres-log'] !== undefined)
    found.postgresLog = await postgresLog(bench, flags['postgres-log'], servers, asked, say)
  if (flags.footprint) found.footprint = await footprint(bench, servers, { quick }, say)
  if (flags.growth) found.growth = await growth(bench, servers, { quick }, say)
  if (flags.scale) found.scale = await scale(bench, servers, asked, { quick }, say)
  if (processes) found.several = await several(bench, servers, asked, { quick }, say)
  if (signIns) found.logins = await logins(bench, servers, { quick }, say)
  if (flags.prune) found.prune = await prune(bench, servers, { quick }, say)
  if (long) found.endurance = await endurance(bench, servers, asked, { quick }, say)
  if (flags.compare !== undefined) {
    found.compared = await compare(bench, flags.compare, servers, asked, settings, say)
  }
  if (flags.profile !== undefined) {
    const profiled = flags.server ? servers : servers.slice(0, 1)
    found.profile = await profile(bench, profiled, asked, { directory: flags.profile, quick }, say)
  }
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(found, null, 1)}\n`)
}

await main()
