// Hosts as npm has them, unmodified, use the app of docs/mcp.md. `npm run test:mcp-hosts` installs all of them and writes the
// table of that page; without it the libraries run that this project has anyway.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { describeWith } from '../support/services.ts'
import { folderOf, hosts, isCalled, type McpHost } from './hosts.ts'
import { type Lab, type Machine, openLab, type Run, type Seen } from './lab.ts'
import { keep, readResults, type Step, tableOf, tableOfPage } from './table.ts'

jest.setTimeout(900_000)

const whole = process.env.MCP_HOSTS === '1'
const only = process.env.MCP_HOST?.split(',')
const chosen = hosts.filter(
  (host) =>
    (whole || host.sample) &&
    folderOf(host) !== undefined &&
    (only === undefined || only.includes(host.name)),
)

const artifacts = join(__dirname, '../.artifacts')

const loginsIn = (seen: readonly Seen[]): number =>
  seen.filter(
    ({ method, path, body }) =>
      method === 'POST' && path === '/oauth/token' && body.grant_type === 'authorization_code',
  ).length
const refreshesIn = (seen: readonly Seen[]): number =>
  seen.filter(
    ({ path, body, status }) =>
      path === '/oauth/token' && body.grant_type === 'refresh_token' && status === 200,
  ).length

const brief = ({ seen, output }: Run): string =>
  [
    ...seen.map(({ method, path, body, query, status, answer }) =>
      [
        status,
        method,
        path,
        path === '/mcp' ? String(body.method ?? '') : '',
        path === '/oauth/token' ? String(body.grant_type ?? '') : '',
        path === '/oauth/authorize'
          ? `${query.client_id} ${query.scope} ${query.redirect_uri} ${query.resource}`
          : '',
        path === '/oauth/register' ? JSON.stringify(body) : '',
        status >= 400 ? answer.slice(0, 300).replaceAll(/\s+/g, ' ') : '',
      ].join(' '),
    ),
    output.slice(-3000),
  ].join('\n')

const log = (host: McpHost, step: string, run: Run): void => {
  mkdirSync(artifacts, { recursive: true })
  const file = join(artifacts, `mcp-host-${host.package.replaceAll(/[^a-z0-9.-]/g, '-')}.log`)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  writeFileSync(file, `${before}\n===== ${step}\n${brief(run)}\n`)
}

/** Logs in and calls a tool, as a user does who starts the host. */
const use = async (
  lab: Lab,
  host: McpHost,
  machine: Machine,
  tool: string,
  step: string,
  login = true,
): Promise<Run> => {
  const seen: Seen[] = []
  let output = ''
  const commands = [...(login ? (host.login?.(machine) ?? []) : []), host.call(machine, tool)]
  for (const [index, command] of commands.entries()) {
    const isCall = index === commands.length - 1
    const run = await lab.run({ ...command, ...(isCall && { until: undefined }) }, machine)
    seen.push(...run.seen)
    output += run.output
  }
  log(host, step, { seen, output })
  return { seen, output }
}

const faults = Object.fromEntries(hosts.map(({ name, faults: own }) => [name, own ?? {}]))

type Passed = Partial<Record<Step, boolean | undefined>>
type LifeStep = Exclude<Step, 'more'>

/** What the host manages of the steps, in their order; none after a login that failed, and none that its time cut off. */
const live = async (lab: Lab, host: McpHost): Promise<Passed> => {
  const machine = lab.machine()
  host.setUp?.(machine)
  const calls = (run: Run, tool = 'list_orders') => isCalled(run.seen, tool)
  const start = (step: Step, login = false) => use(lab, host, machine, 'list_orders', step, login)
  const acts: Readonly<Record<LifeStep, () => Promise<boolean>>> = {
    login: async () => calls(await start('login', true)),
    write: async () => calls(await use(lab, host, machine, 'cancel_order', 'write', false), 'cancel_order'),
    refresh: async () => {
      await lab.untilExpired()
      const run = await start('refresh')
      return calls(run) && loginsIn(run.seen) === 0 && refreshesIn(run.seen) > 0
    },
    restart: async () => {
      await lab.restart()
      const run = await start('restart')
      return calls(run) && loginsIn(run.seen) === 0
    },
    two: async () => {
      await lab.untilExpired()
      const commands = Array.from({ length: 2 }, () => host.call(machine, 'list_orders'))
      const run = await lab.runAll(commands, machine)
      log(host, 'two', run)
      const later = await start('two')
      // A host without a terminal may begin before its server is connected, so the next start shows whether the login stands.
      return refreshesIn(run.seen) > 0 && calls(later) && loginsIn([...run.seen, ...later.seen]) === 0
    },
    removed: async () => {
      await lab.removeConnections()
      return calls(await start('removed', true)) || calls(await start('removed'))
    },
    deleted: async () => {
      await lab.deleteClients()
      return calls(await start('deleted', true)) || calls(await start('deleted'))
    },
  }
  const passed: Passed = Object.fromEntries(Object.keys(acts).map((step) => [step, undefined]))
  for (const [step, act] of Object.entries(acts) as [LifeStep, () => Promise<boolean>][]) {
    const result = await act()
    if (lab.isOver()) break
    passed[step] = result
    if (!passed.login) break
  }
  return passed
}

/**
 * Whether the host asks for the scope that a tool needs, when it has a token without it; undefined if it did not get that far.
 * It may need a second start, after the one that was refused.
 */
const askForMore = async (lab: Lab, host: McpHost): Promise<boolean | undefined> => {
  const machine = lab.machine()
  host.setUp?.(machine)
  const start = (tool: string, login = false) => use(lab, host, machine, tool, 'more', login)
  if (!isCalled((await start('list_orders', true)).seen, 'list_orders')) return undefined
  for (let times = 0; times < 2; times += 1) {
    if (isCalled((await start('cancel_order')).seen, 'cancel_order')) return true
  }
  return lab.isOver() ? undefined : false
}

/** Writes what the host did into the table, if the lab runs as a whole, and expects that it did not fail by our fault. */
const judge = (host: McpHost, passed: Passed): void => {
  if (whole) {
    const { version } = JSON.parse(readFileSync(join(folderOf(host) ?? '', 'package.json'), 'utf8'))
    keep(host.name, { version, date: new Date().toISOString().slice(0, 10), passed }, faults)
  }
  const own = faults[host.name] ?? {}
  const failed = (Object.keys(passed) as Step[]).filter((step) => !passed[step])
  expect(failed.filter((step) => own[step] === undefined)).toEqual([])
}

describeWith('chromium', 'MCP hosts', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  test.each(chosen.map((host) => [host.name, host] as const))(
    '%s lives through everything',
    async (_, host) => {
      // Hosts with a configuration are large programs, which start slowly.
      const accessTokenLifetime = host.setUp ? 20 : 8
      const lab = await openLab(browser, { accessTokenLifetime, limit: 600_000 })
      try {
        judge(host, await live(lab, host))
      } finally {
        await lab.close()
      }
    },
  )

  // Only for the table.
  if (whole)
    test.each(chosen.map((host) => [host.name, host] as const))(
      '%s asks for the scope of a tool that no challenge named before',
      async (_, host) => {
        const lab = await openLab(browser, {
          accessTokenLifetime: 600,
          limit: 300_000,
          guard: '{ resource }',
        })
        try {
          judge(host, { more: await askForMore(lab, host) })
        } finally {
          await lab.close()
        }
      },
    )
})

test('the table of docs/mcp-clients.md is what was seen last, and names a fault where a client failed', () => {
  const results = readResults()
  expect(tableOfPage()).toBe(tableOf(results, faults))
  expect(tableOfPage()).not.toMatch(/✗(?! \(\d)/)
  expect(Object.keys(results).length).toBeGreaterThan(8)
})
