import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { definitionsOf } from '../../../features/feature.ts'
import type { AuthRouterOptions } from '../../../options/options.ts'
import { resolveOptions } from '../../../options/resolve.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { previewPages } from '../../preview/pages.ts'
import { configFile, loadHostOptions } from '../config.ts'
import { print, printNote } from '../terminal.ts'
import { loadTools } from '../tools.ts'

/** Options that production requires, and that development would write to a file. */
const unused: AuthRouterOptions = {
  issuer: 'http://localhost',
  database: { client: 'better-sqlite3', connection: ':memory:' },
  secrets: [randomBytes(32).toString('hex')],
}

const standardPort = '4111'

/** @throws UsageError unless it is a port; 0 is any free one */
const portOf = (invocation: Invocation): number => {
  const text = invocation.text('port') ?? standardPort
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new UsageError('--port must be a number between 0 and 65535')
}

/** `latchkey preview` */
export const previewCommand: Command = {
  name: 'preview',
  summary: 'shows every page with your name, look, languages and templates',
  details:
    'Serves every page in every state on this machine, with sample data and without a database. It uses the\n' +
    'options pages, login and scopes of your configuration. Reload a page to see a changed file. Its panel tries\n' +
    'another logo, accent, font, roundness and colour scheme, and writes them to latchkey.branding.mjs.',
  options: {
    port: { value: 'PORT', help: `the port on localhost; ${standardPort} by default` },
  },
  example: 'latchkey preview --port 8080',
  check: (invocation) => void portOf(invocation),
  async runAlone(invocation) {
    const given = await loadHostOptions(invocation.text('config'))
    // resolveOptions checks every field. The pages depend on neither the secret nor the database nor the issuer.
    const options = resolveOptions({ ...unused, ...(given as AuthRouterOptions | undefined) })
    const port = portOf(invocation)
    const pages = previewPages(
      options,
      await loadTools(definitionsOf(options)),
      configFile(invocation.text('config')),
    )
    const server = createServer(pages).listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (cause) {
      throw new Error(`port ${port} cannot be used; choose another with --port`, { cause })
    }
    print(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    printNote('Press Ctrl-C to stop.')
    await once(server, 'close')
  },
}
