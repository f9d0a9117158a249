// The official clients of the Model Context Protocol connect to an MCP server that they know nothing about, with their own
// OAuth code and a scripted browser: challenge, metadata, client id, PKCE, tokens for that resource, step-up, refresh.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as nodeTls from 'node:tls'
import { promisify } from 'node:util'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer, requireScopes } from '@modelcontextprotocol/server'
import { certificate } from '../support/certificate.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { freePort } from '../support/free-ports.ts'
import { type Host, startHost } from '../support/host.ts'
import { openHostFolder } from '../support/host-folder.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { appMetadata, createMcpApp, mcpClients } from './mcp-client.ts'

let server: TestServer
let host: Host
let mcp: string
let documentUrl: string
/** Of Node 22.19 and 24.5; the types are those of Node 20. */
const tls = nodeTls as typeof nodeTls & {
  getCACertificates(): string[]
  setDefaultCACertificates(certificates: readonly string[]): void
}
const trusted = tls.getCACertificates()
const documents = createServer(certificate, (_req, res) => {
  const body = JSON.stringify({ ...appMetadata, client_id: documentUrl, client_name: 'Documented app' })
  res.writeHead(200, { 'content-type': 'application/json' }).end(body)
})

const notes = createMcpHandler(({ authInfo }) => {
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  const notesServer = new McpServer({ name: 'notes', version: '1.0.0' })
  const { subject } = authInfo as { subject?: string }
  notesServer.registerTool('list_notes', {}, async () => say(`the notes of ${subject}`))
  const scopeChallenge = requireScopes('notes:read', 'notes:write')
  notesServer.registerTool('create_note', { scopeChallenge }, async () => say('written'))
  return notesServer
})

beforeAll(async () => {
  tls.setDefaultCACertificates([...trusted, certificate.cert])
  await new Promise<void>((listening) => documents.listen(0, 'localhost', listening))
  const origin = `https://localhost:${(documents.address() as AddressInfo).port}`
  documentUrl = `${origin}/app.json`
  server = await openServer()
  mcp = `${server.origin}/mcp`
  host = await startHost({
    options: {
      issuer: `${server.origin}/oauth`,
      resources: { [mcp]: { scopes: ['notes:read', 'notes:write'] } },
      features: { registration: true, clientMetadataDocuments: true },
      outbound: { allowSelfDescribed: [origin] },
    },
    clients: [
      {
        ...appMetadata,
        client_id: 'known',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'offline_access notes:read notes:write',
      },
    ],
  })
  host.app.all('/mcp', host.oauth.requireToken('notes:read', { resource: mcp }), toNodeHandler(notes))
  server.serve(host.app)
})
// The clients announce what they retry.
beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation(() => {}))
afterAll(async () => {
  tls.setDefaultCACertificates(trusted)
  documents.close()
  await host.close()
  await server.close()
})

const ways = {
  'a registration': () => ({}),
  'a metadata document': () => ({ clientMetadataUrl: documentUrl }),
  'an id that its user was given': () => ({ known: { client_id: 'known' } }),
}

const table = (Object.keys(mcpClients) as (keyof typeof mcpClients)[]).flatMap((client) =>
  Object.entries(ways).map(([way, given]) => ({ client, way, given })),
)

test.each(table)(
  '$client logs in with $way, asks for more, refreshes and returns after removal',
  async ({ client, given }) => {
    const browser = new RawBrowser(server.origin, server.origin)
    const { kept, use } = createMcpApp({ mcp, browser, client, ...given() })

    expect(await use('list_notes')).toEqual({
      said: 'the notes of 1',
      asked: [expect.stringContaining('notes:read')],
    })
    const [first] = [kept.tokens]
    expect(first?.scope?.split(' ')).not.toContain('notes:write')

    expect(await use('create_note')).toEqual({
      said: 'written',
      asked: [expect.stringContaining('notes:write')],
    })

    Object.assign(kept, { tokens: { ...kept.tokens, access_token: 'expired' } })
    const refresh = kept.tokens?.refresh_token
    expect(await use('list_notes')).toEqual({ said: 'the notes of 1', asked: [] })
    expect(kept.tokens?.refresh_token).not.toBe(refresh)

    const apps = await browser.open('/oauth/account')
    // One line stands for all clients of one name, with the id of one of them.
    const removals = [...apps.html.matchAll(/href="([^"]*client_id=[^"]*)"/g)]
    for (const [, remove = ''] of removals)
      await browser.submit(await browser.open(remove.replaceAll('&amp;', '&')), 'csrf')
    const { status } = await fetch(mcp, {
      method: 'POST',
      headers: { Authorization: `Bearer ${kept.tokens?.access_token}` },
    })
    expect(status).toBe(401)
    const { said, asked } = await use('list_notes')
    expect({ said, times: asked.length }).toEqual({ said: 'the notes of 1', times: 1 })
  },
)

// Version 2 goes to /authorize with the id that is gone, where the user sees an error page.
test('@modelcontextprotocol/sdk 1 registers again after its registration was removed', async () => {
  const client = '@modelcontextprotocol/sdk 1'
  const { kept, use } = createMcpApp({ mcp, client, browser: new RawBrowser(server.origin, server.origin) })
  await use('list_notes')
  const id = String(kept.client?.client_id)
  await host.oauth.clients.delete(id)
  expect((await use('list_notes')).said).toBe('the notes of 1')
  expect(kept.client?.client_id).not.toBe(id)
})

test('the app of docs/mcp.md serves these clients as it stands there', async () => {
  const page = readFileSync(join(__dirname, '../../docs/mcp.md'), 'utf8')
  const [, app = ''] = /```js\n(\/\/ mcp\.mjs\n[\s\S]*?)```/.exec(page) ?? []
  const port = await freePort()
  const url = `http://localhost:${port}/mcp`
  const [, additions = ''] = /as before\n([\s\S]*?)\n\}\n/.exec(page) ?? []
  const folder = openHostFolder({
    'mcp.mjs': app.replaceAll('http://localhost:3000/mcp', url),
    'latchkey.config.mjs': `export default {
${additions.replaceAll('http://localhost:3000/mcp', url)}
}`,
    'seed.mjs': `import { migrate, seedUsers } from 'latchkey'
import knex from 'knex'
const database = knex({ client: 'better-sqlite3', connection: 'latchkey.sqlite', useNullAsDefault: true })
await migrate(database)
await seedUsers(database, [{ username: 'ada@example.com', password: 'ada’s password' }])
await database.destroy()`,
  })
  try {
    await promisify(execFile)(process.execPath, ['seed.mjs'], { cwd: folder.path })
    await folder.start('mcp.mjs', { PORT: String(port) })
    const { origin } = new URL(url)
    const { use, kept } = createMcpApp({
      mcp: url,
      browser: new RawBrowser(origin, origin),
      client: '@modelcontextprotocol/client 2',
    })
    expect((await use('list_orders')).said).toMatch(/^orders of \S+$/)
    expect((await use('cancel_order')).said).toBe('cancelled')
    const withToken = await openServer()
    withToken.serve((req, res) => {
      const headers = { ...req.headers, authorization: `Bearer ${kept.tokens?.access_token}` }
      const onward = request(
        { port, host: 'localhost', method: req.method, path: req.url, headers },
        (answer) => {
          res.writeHead(answer.statusCode ?? 0, answer.headers)
          answer.pipe(res)
        },
      )
      req.pipe(onward)
    })
    // The official scenario is for servers without authentication, so a server before the app adds the token.
    const runner = join(__dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
    const options = ['server', '--url', `${withToken.origin}/mcp`, '--scenario', 'dns-rebinding-protection']
    const { stdout } = await promisify(execFile)(process.execPath, [runner, ...options], { cwd: folder.path })
    await withToken.close()
    expect(stdout).toContain('Passed: 2/2, 0 failed')
    // The page of another site is refused before its token is looked at (mcp 10).
    const fromPage = (origin: string) => fetch(url, { method: 'POST', headers: { Origin: origin } })
    expect((await fromPage('https://attacker.example')).status).toBe(403)
    expect((await fromPage('http://localhost:6274')).status).toBe(401)
  } finally {
    folder.remove()
  }
})
