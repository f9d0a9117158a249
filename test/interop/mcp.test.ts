// The official clients of the Model Context Protocol connect to an MCP server that they know nothing about, with their own
// OAuth code and a scripted browser: challenge, metadata, client id, PKCE, tokens for that resource, step-up, refresh.

import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as nodeTls from 'node:tls'
import { promisify } from 'node:util'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer, requireScopes } from '@modelcontextprotocol/server'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import { certificate } from '../support/certificate.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { freePort } from '../support/free-ports.ts'
import { type Host, startHost } from '../support/host.ts'
import { openHostFolder } from '../support/host-folder.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { compileFolder, createUserTable } from '../support/recipe.ts'
import { filesOf } from '../support/snippets.ts'
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
      features: [registration(), clientMetadataDocuments()],
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

/**
 * The official scenario is for servers without authentication, so a server before the app adds the token.
 *
 * @returns what the scenario prints
 */
const dnsRebinding = async (port: number, cwd: string, token: string | undefined): Promise<string> => {
  const withToken = await openServer()
  withToken.serve((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${token}` }
    const onward = request(
      { port, host: 'localhost', method: req.method, path: req.url, headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(res)
      },
    )
    req.pipe(onward)
  })
  const runner = join(__dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const options = ['server', '--url', `${withToken.origin}/mcp`, '--scenario', 'dns-rebinding-protection']
  const { stdout } = await promisify(execFile)(process.execPath, [runner, ...options], { cwd })
  await withToken.close()
  return stdout
}

const page = filesOf('docs/mcp.md')
const config = page['latchkey.config.mjs'] ?? ''

/** The programs of the page, with the file that Node runs. */
const programs = [
  { file: 'mcp.mjs', main: () => 'mcp.mjs', checksOrigin: true },
  { file: 'src/mcp.ts', main: (folder: string) => `${folder}/src/mcp.js`, checksOrigin: true },
  { file: 'src/mcp-sdk1.ts', main: (folder: string) => `${folder}/src/mcp-sdk1.js` },
]

test.each(programs)('$file of docs/mcp.md serves these clients as it stands there', async (program) => {
  const { file, main, checksOrigin = false } = program
  const port = await freePort()
  const url = `http://localhost:${port}/mcp`
  const folder = openHostFolder({
    'latchkey.config.mjs': config,
    ...(file.endsWith('.ts') && {
      'src/latchkey.config.ts': config
        .replace('\n', "\nimport type { AuthRouterOptions } from 'latchkey'\n")
        .replace(/\}\n$/, '} satisfies AuthRouterOptions\n'),
    }),
    [file]: page[file] ?? '',
  })
  try {
    await createUserTable(join(folder.path, 'app.sqlite'))
    const compiled = file.endsWith('.ts') ? compileFolder(folder) : ''
    await folder.start(main(compiled), { PORT: String(port), MCP_URL: url })
    const { origin } = new URL(url)
    const { use, kept } = createMcpApp({
      mcp: url,
      browser: new RawBrowser(origin, origin),
      client: '@modelcontextprotocol/client 2',
    })
    expect((await use('list_orders')).said).toBe('orders of 1')
    expect((await use('cancel_order')).said).toBe('cancelled')
    const scopes = kept.tokens?.scope?.split(' ')
    expect(scopes).toEqual(expect.arrayContaining(['orders:read', 'orders:write']))
    // The page of another site is refused before its token is looked at (mcp 10), or because it has none.
    const fromPage = (from: string) => fetch(url, { method: 'POST', headers: { Origin: from } })
    expect((await fromPage('http://localhost:6274')).status).toBe(401)
    expect((await fromPage('https://attacker.example')).status).toBe(checksOrigin ? 403 : 401)
    if (checksOrigin)
      expect(await dnsRebinding(port, folder.path, kept.tokens?.access_token)).toContain('2/2, 0 failed')
  } finally {
    folder.remove()
  }
})
