import { decodeJwt } from 'jose'
import type { ClientSeed } from '../../lib/index.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import type { ClaimsAsked, ClaimTarget } from '../../lib/options/users.ts'
import { callback, type Host, issuer, people, secret, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { introspect, tokensFor, userinfo } from '../support/tokens.ts'

const api = 'https://files.example/api'
const targets: readonly ClaimTarget[] = ['id_token', 'userinfo', 'introspection', 'access_token']
const reserved = (
  'iss sub aud exp nbf iat jti nonce acr amr auth_time azp cnf scope client_id act active token_type org_id ' +
  'authorization_id authorization_details sid'
).split(' ')
const forged = Object.fromEntries(reserved.map((name) => [name, 'forged']))
const asked: ClaimsAsked[] = []
/** What the scopes `profile` and `email` reveal. */
const identity = { name: 'Ada Lovelace', email: 'ada@example.com' }

/** What the host gives each client, for each place; a client that is not here gets nothing. */
const given: Readonly<Record<string, readonly ClaimTarget[]>> = {
  everything: targets,
  'without-scope': targets,
  api: ['access_token', 'introspection'],
}

let hosts: Record<'functions' | 'table', Host>
let base: Host
beforeAll(async () => {
  const clients: ClientSeed[] = ['everything', 'without-scope', 'api', 'nothing'].map((client_id) => ({
    client_id,
    client_secret: secret,
    redirect_uris: [callback],
    id_token_scope_claims: true,
    scope: client_id === 'without-scope' ? 'openid files:read' : 'openid profile email files:read badge',
  }))
  clients.push({
    client_id: 'files-api',
    client_secret: secret,
    grant_types: ['client_credentials'],
    may_introspect: true,
  })
  const options = {
    scopes: {
      badge: { description: 'See your badge' },
      'files:read': 'Read your files',
    },
    resources: {
      [api]: { scopes: ['files:read', 'badge'], accessToken: 'jwt' as const, introspection: ['files-api'] },
    },
    acrValues: [],
  }
  const badgeFor = (request: ClaimsAsked): string | undefined => {
    asked.push(request)
    return given[request.client.client_id]?.includes(request.for)
      ? `of ${request.client.client_id}`
      : undefined
  }
  const ada = people[0]!
  const withFunctions = await startHost({
    clients,
    options: {
      ...options,
      scopes: { ...options.scopes, badge: { description: 'See your badge', claims: ['badge', ...reserved] } },
      users: {
        find: (id) => (id === '1' ? { id: 1, username: 'ada' } : undefined),
        authenticate: ({ username, password }) =>
          username === ada.email && password === ada.password ? { id: 1, username: 'ada' } : undefined,
        claims: (_, request) => ({ badge: badgeFor(request), salary: 1, ...identity, ...forged }),
      },
    },
  })
  base = await startHost({ clients: [] })
  const withTable = await startHost({
    clients,
    database: base.database,
    options: {
      ...options,
      users: {
        table: base.usersTable,
        columns: { id: 'id', username: 'email', password: 'password_hash' },
        claims: {
          badge: { value: (_, request) => badgeFor(request), scope: 'badge', for: targets },
          salary: { value: () => 1, for: targets },
          name: { value: () => identity.name, for: targets },
          email: { value: () => identity.email, for: targets },
          ...Object.fromEntries(
            reserved.map((name) => [name, { value: () => 'forged', scope: 'badge', for: targets }]),
          ),
        },
      },
    },
  })
  hosts = { functions: withFunctions, table: withTable }
})
afterAll(async () => {
  for (const host of Object.values(hosts)) await host.close()
  await base.close()
})

/** What a client gets in each place. */
const claimsOf = async (
  host: Host,
  client: string,
): Promise<Record<ClaimTarget, Record<string, unknown>>> => {
  const own = { client_id: client, client_secret: secret }
  const agent = new RawBrowser(host.app)
  const scope = client === 'without-scope' ? 'openid files:read' : 'openid files:read badge'
  const request = { client_id: client, scope, nonce: 'n' }
  const tokens = await tokensFor(host, request, own, { agent })
  const forApi = await tokensFor(host, { ...request, resource: api }, { ...own, resource: api }, { agent })
  return {
    id_token: decodeJwt(tokens.id_token),
    userinfo: (await userinfo(host, tokens.access_token)).body,
    introspection: (await introspect(host, forApi.access_token, own)).body,
    access_token: decodeJwt(forApi.access_token),
  }
}

describe.each(['functions', 'table'] as const)('users with %s', (kind) => {
  test.each([
    ['everything', targets],
    ['without-scope', []],
    ['api', ['introspection', 'access_token']],
    ['nothing', []],
  ] as const)('the client %s gets its badge in: %j', async (client, places) => {
    asked.length = 0
    const claims = await claimsOf(hosts[kind], client)
    expect(targets.filter((target) => 'badge' in claims[target])).toEqual(
      targets.filter((target) => places.some((place) => place === target)),
    )
    for (const place of places) expect(claims[place].badge).toBe(`of ${client}`)
    for (const target of targets) {
      expect(claims[target]).not.toHaveProperty('salary')
      expect(JSON.stringify(claims[target])).not.toContain('forged')
      expect(claims[target].sub).toBe('1')
    }
    expect(claims.access_token).toMatchObject({ iss: issuer, client_id: client })
    expect(claims.introspection).toMatchObject({ active: true, client_id: client })
    for (const request of asked) expect(request.client.client_id).toBe(client)
  })

  test('an API learns neither name nor e-mail address, although the client has profile and email', async () => {
    const scope = 'openid profile email files:read'
    const own = { client_id: 'everything', client_secret: secret }
    const agent = new RawBrowser(hosts[kind].app)
    const tokens = await tokensFor(hosts[kind], { ...own, scope }, own, { agent })
    for (const seen of [decodeJwt(tokens.id_token), (await userinfo(hosts[kind], tokens.access_token)).body])
      expect(seen).toMatchObject(identity)
    const resource = api
    const forApi = await tokensFor(hosts[kind], { ...own, scope, resource }, { ...own, resource }, { agent })
    const asApi = { client_id: 'files-api', client_secret: secret }
    const introspected = async (token: string) => (await introspect(hosts[kind], token, asApi)).body
    for (const seen of [
      decodeJwt(forApi.access_token),
      await introspected(forApi.access_token),
      await introspected(tokens.access_token),
    ]) {
      expect(seen).toMatchObject({ sub: '1', scope })
      for (const name of ['username', ...Object.keys(identity)]) expect(seen).not.toHaveProperty(name)
    }
  })
})

test('a scope beside a claim must exist', () => {
  const users = {
    table: 'users',
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    claims: { badge: { value: 'badge', scope: 'badgee' } },
  }
  expect(() => resolveOptions({ users, scopes: { badge: 'See your badge' } })).toThrow(
    "users.claims['badge'].scope: badgee is not in the option scopes; did you mean badge?",
  )
})
