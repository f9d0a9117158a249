// Hosts that cannot run here, played from what is known of their requests.

import express from 'express'
import { clientMetadataDocuments, registration } from '../../lib/features/index.ts'
import { type McpHost, mcpHosts } from '../../lib/tools/doctor/mcp-hosts.ts'
import type { TestServer } from '../support/client-server.ts'
import { stopClock } from '../support/clock.ts'
import { type Host, startHost } from '../support/host.ts'
import { play, publishDocuments } from '../support/mcp-player.ts'
import { answerOf, expectError } from '../support/tokens.ts'

const resource = 'http://localhost:3000/mcp'
const day = 86_400

let host: Host
let documents: TestServer

beforeAll(async () => {
  host = await startHost({
    options: {
      resources: { [resource]: { scopes: ['notes:read', 'notes:write'] } },
      features: [registration(), clientMetadataDocuments()],
      outbound: {
        allowSelfDescribed: mcpHosts.flatMap(({ document }) =>
          document ? new URL(document.client_id).origin : [],
        ),
      },
    },
  })
  const guard = host.oauth.requireToken('notes:read', { resource, ask: 'notes:write' })
  host.app.use(
    express.Router().post('/mcp', guard, (req, res) => void res.json({ scopes: req.auth?.scopes })),
  )
})
beforeEach(async () => {
  documents = await publishDocuments(mcpHosts)
})
afterEach(async () => {
  jest.restoreAllMocks()
  await documents.close()
})
afterAll(() => host.close())

const table = mcpHosts.map((one): [string, McpHost] => [one.name, one])

test.each(table)('%s logs in, calls and refreshes; a removed one is told so', async (_, one) => {
  const { tokens, call, refresh, clientId } = await play(host, one, resource)
  await call(tokens.access_token).expect(200)
  const next = await answerOf(refresh(tokens.refresh_token))
  await call(next.access_token).expect(200)
  await host.oauth.users.revokeAll(1)
  await call(next.access_token).expect(401)
  expectError(await refresh(next.refresh_token), 400, 'invalid_grant')
  if (one.document) return
  await host.oauth.clients.delete(clientId)
  expectError(await refresh(next.refresh_token), 401, 'invalid_client')
})

/** What libraries register that do not ask for `offline_access`; recorded by test/mcp-hosts on 2026-11-26. */
const library = (name: string, version: string, redirectUri: string, source: string): McpHost => ({
  id: name,
  name,
  version,
  steps: [
    'challenge',
    'resource-document',
    'metadata',
    'registration',
    'authorize',
    'token',
    'call',
    'refresh',
  ],
  registration: {
    client_name: name,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: 'notes:read notes:write',
  },
  redirectUri,
  scopes: 'challenge',
  offlineAccess: false,
  resource: true,
  source: { url: source, date: '2026-11-26' },
})

const npm = 'https://www.npmjs.com/package'
const libraries = [
  library('MCP SDK 1', '1.32.2', 'http://127.0.0.1:37017/callback', `${npm}/@modelcontextprotocol/sdk`),
  library('AI SDK', '2.0.99', 'http://127.0.0.1:41501/callback', `${npm}/@ai-sdk/mcp`),
  library('LangChain', '1.1.4', 'http://127.0.0.1:46097/callback', `${npm}/@langchain/mcp-adapters`),
  library('mcp-remote 0.1', '0.1.49', 'http://localhost:47184/oauth/callback', `${npm}/mcp-remote`),
]

const withoutOffline = [...mcpHosts, ...libraries]
  .filter(({ offlineAccess }) => !offlineAccess)
  .map((one): [string, McpHost] => [one.name, one])

describe('a client that does not ask for offline_access', () => {
  test.each(withoutOffline)('%s, allowed at noon, is still connected after 13 hours', async (_, one) => {
    const clock = stopClock()
    const { tokens, asked, call, refresh } = await play(host, one, resource)
    expect(asked.get('scope') ?? '').not.toContain('offline_access')
    clock.travel(13 * 3600)
    await call(tokens.access_token).expect(401)
    const next = await answerOf(refresh(tokens.refresh_token))
    await call(next.access_token).expect(200)
  })

  test.each(withoutOffline)(
    '%s is still connected after 60 days in which it is used every 15',
    async (_, one) => {
      const clock = stopClock()
      const { tokens, call, refresh } = await play(host, one, resource)
      let { refresh_token } = tokens
      for (let days = 0; days < 60; days += 15) {
        clock.travel(15 * day)
        const next = await answerOf(refresh(refresh_token))
        await call(next.access_token).expect(200)
        refresh_token = next.refresh_token
      }
    },
  )

  test('is logged out after 30 days without use', async () => {
    const clock = stopClock()
    const { tokens, refresh } = await play(host, libraries[0]!, resource)
    clock.travel(30 * day)
    expectError(await refresh(tokens.refresh_token), 400, 'invalid_grant')
  })
})
