import type supertest from 'supertest'
import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import { callback, clients, type Host, type HostSettings, secret, startHost } from './host.ts'
import { locationOf, RawBrowser } from './raw-browser.ts'
import { ada, answerOf, type Fields, given, introspect, post, type TokenAnswer, web } from './tokens.ts'

/** Resources of a host: two with opaque access tokens, two with JWTs. */
export const notes = 'https://app.example.com/mcp'
export const mail = 'https://mail.example.com/api'
export const files = 'https://files.example.com'
export const photos = 'https://photos.example.com/v1'

const api: ClientSeed = { client_id: 'notes-api', client_secret: secret, redirect_uris: [], grant_types: [] }
const scope = 'openid profile email offline_access notes:read notes:write mail:read files:read files:write'

export const resourceOptions: Partial<AuthRouterOptions> = {
  scopes: {
    'notes:read': 'Read your notes',
    'notes:write': { description: 'Write notes for you', optional: true },
    'mail:read': 'Read your mail',
    'files:read': 'Read your files',
    'files:write': 'Change your files',
  },
  resources: {
    [notes]: {
      name: 'Notes MCP server',
      scopes: ['notes:read', 'notes:write'],
      introspection: ['notes-api'],
    },
    [mail]: { scopes: ['mail:read', 'notes:read'] },
    [files]: {
      scopes: ['files:read', 'files:write'],
      accessToken: 'jwt',
      introspection: ['notes-api'],
      claims: (user, { client }) => ({
        tier: user ? `of ${user.full_name}` : `of ${client.client_id}`,
        sub: 'forged',
        auth_time: 1,
        acr: 'forged',
        authorization_id: 'forged',
      }),
    },
    [photos]: { scopes: ['files:read'], accessToken: 'jwt' },
  },
}

/** A host with these resources, and with clients that may have all of their scopes. */
export const startResourceHost = ({ options, ...settings }: HostSettings = {}): Promise<Host> =>
  startHost({
    ...settings,
    options: { ...resourceOptions, ...options },
    clients: [
      ...clients.map((client) => ({ ...client, scope })),
      { ...clients[0], client_id: 'pairwise', scope, subject_type: 'pairwise' },
      api,
      { ...api, client_id: 'any-api', may_introspect: true },
      ...(settings.clients ?? []),
    ],
  })

/** The query of `resource`, which may be repeated. */
const withResources = (fields: Fields, resources: readonly string[]): string =>
  new URLSearchParams([
    ...Object.entries(given(fields)),
    ...resources.map((resource): [string, string] => ['resource', resource]),
  ]).toString()

/** The address of an authorization request for these resources. */
export const authorizePath = (resources: readonly string[], fields: Fields = {}): string => {
  const request = { response_type: 'code', client_id: 'web', redirect_uri: callback, ...fields }
  return `/oauth/authorize?${withResources(request, resources)}`
}

/** Where the browser of Ada ends who signs in and allows as far as she is asked. */
export const authorizeFor = async (
  host: Host,
  resources: readonly string[],
  fields: Fields = {},
  agent = new RawBrowser(host.app),
): Promise<URL> => locationOf(await agent.grant(authorizePath(resources, fields), ada.email, ada.password))

/** A POST to the token endpoint as the client `web`. */
export const tokenRequest = (host: Host, fields: Fields, resources: readonly string[] = []): supertest.Test =>
  post(host, withResources({ ...web, ...fields }, resources))

/** The answer to the code of an authorization for these resources. */
const redeemFor = async (
  host: Host,
  resources: readonly string[],
  fields: Fields = {},
  narrowed: readonly string[] = [],
): Promise<supertest.Response> => {
  const location = await authorizeFor(host, resources, fields)
  const code = location.searchParams.get('code') ?? `none: ${location.search}`
  const { client_id } = fields
  const redemption = {
    grant_type: 'authorization_code',
    redirect_uri: callback,
    code,
    client_id: client_id ?? 'web',
  }
  return tokenRequest(host, redemption, narrowed)
}

export const tokensOf = (...request: Parameters<typeof redeemFor>): Promise<TokenAnswer> =>
  answerOf(redeemFor(...request))

export const introspectAs = async (
  host: Host,
  client_id: string,
  token: string,
): Promise<Record<string, unknown>> => (await introspect(host, token, { client_id }).expect(200)).body
