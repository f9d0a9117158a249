// Plays a host of lib/tools/doctor/mcp-hosts.ts against a host of the tests: its own order of requests, with its own bodies.

import { promises as dns } from 'node:dns'
import http, { type ClientRequest, type RequestOptions } from 'node:http'
import https from 'node:https'
import supertest from 'supertest'
import type { McpHost } from '../../lib/tools/doctor/mcp-hosts.ts'
import { openServer, type TestServer } from './client-server.ts'
import { type Host, pkce } from './host.ts'
import { locationOf, RawBrowser } from './raw-browser.ts'
import { asserted, assertion, createClientKey } from './signing-client.ts'
import { type Fields, given, post, type TokenAnswer } from './tokens.ts'

/** Stands for the key of each host that has one. */
const key = createClientKey('RS256', 'of-the-host')

/** What the vendors publish, documents and keys: the server asks this machine instead. End it with `close()`. */
export const publishDocuments = async (hosts: readonly McpHost[]): Promise<TestServer> => {
  const keys = { keys: [(await key).publicJwk] }
  const published = new Map<string, object>(
    hosts.flatMap(({ document }): [string, object][] =>
      document
        ? [
            [document.client_id, document],
            [String(document.jwks_uri), keys],
          ]
        : [],
    ),
  )
  const server = await openServer()
  server.serve((req, res) => {
    const document = published.get(`https://${req.headers.host}${req.url}`)
    res
      .writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify(document ?? {}))
  })
  jest.spyOn(dns, 'lookup').mockResolvedValue([{ address: '127.0.0.1', family: 4 }] as never)
  const real = https.request
  jest.spyOn(https, 'request').mockImplementation(((url: URL, options: RequestOptions): ClientRequest => {
    if (![...published.keys()].some((id) => URL.canParse(id) && new URL(id).host === url.host))
      return real(url, options)
    const { lookup: _, ...rest } = options
    return http.request(`${server.origin}${url.pathname}`, {
      ...rest,
      headers: { ...(options.headers as Record<string, string>), host: url.host },
    })
  }) as typeof https.request)
  return server
}

/** A host that a user has connected. */
interface Connected {
  readonly clientId: string
  readonly tokens: TokenAnswer
  /** What the user's page said the host may do. */
  readonly asked: URLSearchParams
  refresh(token: string): Promise<supertest.Response>
  call(accessToken: string): supertest.Test
}

const json = async (host: Host, path: string): Promise<Record<string, unknown>> =>
  (await supertest(host.app).get(path).expect(200)).body

/**
 * Logs in as the host does.
 *
 * @param resource the URL of the MCP server, whose path the host's app guards
 * @throws Error at the first step that fails, with its name
 */
export const play = async (
  host: Host,
  { steps, registration, document, redirectUri, scopes, offlineAccess, resource: namesResource }: McpHost,
  resource: string,
): Promise<Connected> => {
  const path = new URL(resource).pathname
  const issuerPath = '/oauth'
  let clientId = document?.client_id ?? ''
  let scope: string | undefined
  let metadata: Record<string, unknown> = {}
  for (const step of steps) {
    if (step === 'challenge') {
      const { headers } = await supertest(host.app).post(path).expect(401)
      const [, named] = /scope="([^"]*)"/.exec(headers['www-authenticate'] ?? '') ?? []
      if (scopes === 'challenge') scope = named
    } else if (step === 'resource-document') {
      const { scopes_supported } = await json(host, `/.well-known/oauth-protected-resource${path}`)
      if (scopes === 'resource') scope = (scopes_supported as string[]).join(' ')
    } else if (step === 'metadata')
      metadata = await json(host, `/.well-known/oauth-authorization-server${issuerPath}`)
    else if (step === 'root-metadata') metadata = await json(host, '/.well-known/oauth-authorization-server')
    else if (step === 'registration') {
      const { pathname } = new URL(String(metadata.registration_endpoint))
      const { status, body } = await supertest(host.app).post(pathname).send(registration)
      if (status !== 201) throw new Error(`registration: ${status} ${JSON.stringify(body)}`)
      if (!body.redirect_uris.includes(redirectUri) && !redirectUri.startsWith('http://127.0.0.1'))
        throw new Error(`registration: ${redirectUri} was left out`)
      clientId = body.client_id
    }
  }
  if (offlineAccess && (metadata.scopes_supported as string[]).includes('offline_access'))
    scope = `${scope} offline_access`
  const { verifier: code_verifier, challenge: code_challenge } = pkce()
  const target: Fields = namesResource ? { resource } : {}
  const request = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge,
    code_challenge_method: 'S256',
    scope,
    state: 'a state of the host',
    ...target,
  }
  const asked = new URLSearchParams(given(request))
  const answer = locationOf(await new RawBrowser(host.app).grant(`${issuerPath}/authorize?${asked}`))
  const code = answer.searchParams.get('code')
  if (code === null) throw new Error(`authorize: ${answer}`)
  const redemption = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
  }
  /** A host with a key addresses its assertions to the token endpoint. */
  const signed = async (): Promise<Fields> =>
    document?.token_endpoint_auth_method === 'private_key_jwt'
      ? asserted(await assertion(clientId, await key, { aud: metadata.token_endpoint }))
      : {}
  const { status, body } = await post(host, { ...redemption, code_verifier, ...target, ...(await signed()) })
  if (status !== 200) throw new Error(`token: ${status} ${JSON.stringify(body)}`)
  return {
    clientId,
    tokens: body,
    asked,
    refresh: async (refresh_token) =>
      post(host, {
        grant_type: 'refresh_token',
        refresh_token,
        client_id: clientId,
        ...target,
        ...(await signed()),
      }),
    call: (token) => supertest(host.app).post(path).set('Authorization', `Bearer ${token}`),
  }
}
