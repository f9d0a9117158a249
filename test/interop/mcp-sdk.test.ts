// The client of the MCP SDK connects to an MCP server that it knows nothing about: challenge, resource metadata, server
// metadata, registration, authorization and tokens for that resource.

import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
} from '@modelcontextprotocol/sdk/client/auth.js'
import { openServer, type TestServer } from '../support/client-server.ts'
import { callback, type Host, startHost } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'

let server: TestServer
let host: Host
let mcp: string

beforeAll(async () => {
  server = await openServer()
  mcp = `${server.origin}/mcp`
  host = await startHost({
    options: {
      issuer: `${server.origin}/oauth`,
      features: { registration: true },
      resources: { [mcp]: { scopes: ['notes:read', 'notes:write'] } },
    },
  })
  host.app.post('/mcp', host.oauth.requireToken('notes:read', { resource: mcp }), (req, res) => {
    res.json({ scopes: req.auth.scopes })
  })
  server.serve(host.app)
})
afterAll(() => server.close())
afterAll(() => host.close())

type Kept<Name extends 'clientInformation' | 'tokens'> = Awaited<ReturnType<OAuthClientProvider[Name]>>

/** What a desktop app keeps. */
const createProvider = () => {
  const kept: {
    client?: Kept<'clientInformation'>
    tokens?: Kept<'tokens'>
    verifier?: string
    asked?: URL
  } = {}
  const provider: OAuthClientProvider = {
    redirectUrl: callback,
    clientMetadata: {
      ...{ client_name: 'Desktop app', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
      ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
    },
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

const call = (token?: string): Promise<Response> =>
  fetch(mcp, { method: 'POST', headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } })

test('the client registers, gets tokens for this server, and registers again after it was removed', async () => {
  const { kept, provider } = createProvider()
  const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(await call())
  const connect = (authorizationCode?: string) =>
    auth(provider, {
      serverUrl: mcp,
      ...(scope !== undefined && { scope }),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(authorizationCode !== undefined && { authorizationCode }),
    })

  expect(await connect()).toBe('REDIRECT')
  expect(Object.fromEntries(kept.asked!.searchParams)).toMatchObject({ resource: mcp, scope: 'notes:read' })
  const browser = new RawBrowser(server.origin, server.origin)
  const answer = locationOf(await browser.grant(kept.asked!.href))
  expect(await connect(answer.searchParams.get('code') ?? '')).toBe('AUTHORIZED')
  expect(await (await call(kept.tokens?.access_token)).json()).toEqual({ scopes: ['notes:read'] })

  const first = kept.tokens
  expect(await connect()).toBe('AUTHORIZED')
  expect(kept.tokens?.refresh_token).not.toBe(first?.refresh_token)

  const id = kept.client?.client_id
  await host.oauth.clients.delete(String(id))
  expect((await call(kept.tokens?.access_token)).status).toBe(401)
  expect(await connect()).toBe('REDIRECT')
  expect(kept.client?.client_id).not.toBe(id)
})
