// Hosts as npm has them, unmodified, use the app of docs/mcp.md. `npm run test:mcp-hosts` installs all of them and writes the
// table of that page; without it the libraries run that this project has anyway.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { describeWith } from '../support/services.ts'
import { folderOf, hosts, isCalled, type McpHost } from './hosts.ts'
import { type Lab, type Machine, openLab, type Run, type Seen } from './lab.ts'

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
    ({ method, path, query, body }) =>
      method === 'POST' && path === '/oauth/token' && body.grant_type === 'authorization_code' && query,
  ).length
const refreshesIn = (seen: readonly Seen[]): number =>
  seen.filter(
    ({ path, body, status }) =>
      path === '/oauth/token' && body.grant_type === 'refresh_token' && status === 200,
  ).length

/** What a host did at each step of its life. */
export interface Results {
  readonly [step: string]: boolean | string
}

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

describeWith('chromium', 'MCP hosts', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser.close())

  test.each(chosen.map((host) => [host.name, host] as const))(
    '%s lives through everything',
    async (_, host) => {
      const lab = await openLab(browser)
      const results: Record<string, boolean> = {}
      try {
        const machine = lab.machine()
        host.setUp?.(machine)
        const first = await use(lab, host, machine, 'list_orders', 'login')
        results.login = isCalled(first.seen, 'list_orders')
        if (results.login) {
          const write = await use(lab, host, machine, 'cancel_order', 'write', false)
          results.write = isCalled(write.seen, 'cancel_order')
          await lab.untilExpired()
          const refresh = await use(lab, host, machine, 'list_orders', 'refresh', false)
          results.refresh =
            isCalled(refresh.seen, 'list_orders') &&
            loginsIn(refresh.seen) === 0 &&
            refreshesIn(refresh.seen) > 0
          await lab.restart()
          const restart = await use(lab, host, machine, 'list_orders', 'restart', false)
          results.restart = isCalled(restart.seen, 'list_orders') && loginsIn(restart.seen) === 0
          await lab.untilExpired()
          const two = await lab.runAll(
            [host.call(machine, 'list_orders'), host.call(machine, 'list_orders')],
            machine,
          )
          log(host, 'two', two)
          results.two =
            two.seen.filter((one) => isCalled([one], 'list_orders')).length === 2 && loginsIn(two.seen) === 0
          const later = await use(lab, host, machine, 'list_orders', 'after two', false)
          results.two &&= isCalled(later.seen, 'list_orders') && loginsIn(later.seen) === 0
          await lab.removeConnections()
          const removed = await use(lab, host, machine, 'list_orders', 'removed')
          results.removed = isCalled(removed.seen, 'list_orders')
          await lab.deleteClients()
          const deleted = await use(lab, host, machine, 'list_orders', 'deleted')
          results.deleted = isCalled(deleted.seen, 'list_orders')
        }
        mkdirSync(artifacts, { recursive: true })
        writeFileSync(join(artifacts, `mcp-host-${host.name}.json`), JSON.stringify(results))
        console.info(host.name, results)
        expect(results.login).toBe(true)
      } finally {
        await lab.close()
      }
    },
  )
})
