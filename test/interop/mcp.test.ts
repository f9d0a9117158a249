// The official clients of the Model Context Protocol connect to an MCP server that they know nothing about, with their own
// OAuth code and a scripted browser: challenge, metadata, client id, PKCE, tokens for that resource, step-up, refresh.

import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import * as nodeTls from 'node:tls'
import * as second from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createMcpHandler, McpServer, requireScopes } from '@modelcontextprotocol/server'
import { certificate } from '../support/certificate.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { type Host, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'

/** The loopback address of a desktop app. */
const callback = 'http://127.0.0.1:33418/callback'
const metadata = {
  client_name: 'Desktop app',
  redirect_uris: [callback],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
}

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
  const body = JSON.stringify({ ...metadata, client_id: documentUrl, client_name: 'Documented app' })
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
      outbound: { allow: [origin] },
    },
    clients: [
      {
        ...metadata,
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

type Provider = second.OAuthClientProvider
type Stored = Awaited<ReturnType<Provider['clientInformation']>>
type Tokens = Awaited<ReturnType<Provider['tokens']>>

/** What a desktop app keeps. */
const createApp = (given: { clientMetadataUrl?: string; client?: Stored }) => {
  const kept: { client?: Stored; tokens?: Tokens; verifier?: string; asked?: URL } = { client: given.client }
  const provider: Provider = {
    redirectUrl: callback,
    clientMetadata: metadata,
    ...(given.clientMetadataUrl !== undefined && { clientMetadataUrl: given.clientMetadataUrl }),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (asked) => void Object.assign(kept, { asked }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => String(kept.verifier),
    invalidateCredentials: (scope) => {
      if (scope === 'all') delete kept.client
      delete kept.tokens
    },
  }
  return { kept, provider }
}

/** One connection of each version: its client, its transport, and how it finishes a login. */
const versions = {
  '@modelcontextprotocol/sdk 1': (authProvider: Provider) => {
    const transport = new FirstTransport(new URL(mcp), { authProvider: authProvider as never })
    const client = new FirstClient({ name: 'test', version: '1.0.0' })
    return {
      connect: () => client.connect(transport as never),
      call: (name: string) => client.callTool({ name }),
      finish: (answer: URL) => transport.finishAuth(answer.searchParams.get('code') ?? ''),
      /** At a 403 it refreshes, which brings no further scope, and gives up; the app then starts a login. */
      giveUp: async ({ message }: Error) => {
        if (!message.includes('upscoping')) return
        const tokens = await authProvider.tokens()
        await authProvider.invalidateCredentials?.('tokens')
        await auth(authProvider as never, { serverUrl: mcp, scope: `${tokens?.scope} notes:write` })
      },
    }
  },
  '@modelcontextprotocol/client 2': (authProvider: Provider) => {
    const transport = new second.StreamableHTTPClientTransport(new URL(mcp), { authProvider })
    const client = new second.Client({ name: 'test', version: '1.0.0' })
    return {
      connect: () => client.connect(transport),
      call: (name: string) => client.callTool({ name }),
      finish: (answer: URL) => transport.finishAuth(answer.searchParams),
      giveUp: async (_error: Error) => {},
    }
  },
}

const ways = {
  'a registration': () => ({}),
  'a metadata document': () => ({ clientMetadataUrl: documentUrl }),
  'an id that its user was given': () => ({ client: { client_id: 'known' } }),
}

const table = Object.entries(versions).flatMap(([version, open]) =>
  Object.entries(ways).map(([way, given]) => ({ version, way, open, given })),
)

test.each(table)(
  '$version logs in with $way, asks for more, refreshes and returns after removal',
  async ({ open, given }) => {
    const { kept, provider } = createApp(given())
    const browser = new RawBrowser(server.origin, server.origin)
    let connection = open(provider)
    let isConnected = false
    /** Calls a tool; whenever the client asks for a login, the user allows it and the client connects again. */
    const use = async (tool: string): Promise<{ said: unknown; asked: string[] }> => {
      const asked: string[] = []
      for (;;) {
        try {
          delete kept.asked
          if (!isConnected) await connection.connect()
          isConnected = true
          const result = (await connection.call(tool)) as { content: { text: string }[] }
          return { said: result.content[0]?.text, asked }
        } catch (error) {
          await connection.giveUp(error as Error)
          if (kept.asked === undefined || asked.length > 2) throw error
          asked.push(kept.asked.searchParams.get('scope') ?? '')
          expect(kept.asked.searchParams.get('resource')).toBe(mcp)
          const answer = locationOf(await browser.grant(kept.asked.href))
          await connection.finish(answer)
          connection = open(provider)
          isConnected = false
        }
      }
    }

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
    const id = encodeURIComponent(kept.client?.client_id ?? '')
    const [, remove = ''] = new RegExp(`href="([^"]*client_id=${id}[^"]*)"`).exec(apps.html) ?? []
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
