import { crc32 } from 'node:zlib'
import { issuePersonalToken } from '../../lib/account/personal-tokens.ts'
import type { AuthEvent, AuthRouterOptions } from '../../lib/index.ts'
import { tokenExchangeGrantType } from '../../lib/protocol/token-exchange.ts'
import { removeExpiredRows } from '../../lib/repositories/pruning/schedule.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { clients, type Host, secret, startHost } from '../support/host.ts'
import { bob, guarded, introspect, post, revoke, userinfo, web } from '../support/tokens.ts'

const day = 86_400
const features: AuthRouterOptions['features'] = {
  personalAccessTokens: { maxPerUser: 3 },
  tokenExchange: { policy: () => true },
}

let clock: Clock
let host: Host
let events: AuthEvent[]
beforeEach(async () => {
  clock = stopClock()
  events = []
  const api = {
    client_id: 'api',
    client_secret: secret,
    redirect_uris: [],
    grant_types: [tokenExchangeGrantType],
  }
  host = await startHost({
    clients: [...clients, { ...api, may_introspect: true } as (typeof clients)[0]],
    options: { features },
  })
  host.oauth.events.on('*', (event) => void events.push(event))
})
afterEach(async () => {
  await host.close()
  jest.restoreAllMocks()
})

const server = async (of = host) => serverBehind(of.oauth)!.ready()
const make = async (given: { subject?: string; scopes?: string[]; days?: number } = {}, of = host) => {
  const { subject = '1', scopes = ['notes:read'], days = 30 } = given
  const choice = { subject, name: 'Backup script', scopes, expiresAt: clock.now() + days * day }
  const made = await issuePersonalToken(await server(of), choice)
  if (made === undefined) throw new Error('no token was made')
  return made
}
const rows = (of = host) => of.database.knex(`${of.database.tablePrefix}personal_tokens`).select()
const status = async (value: string, of = host): Promise<number> => (await guarded(of, value)).status

describe('a personal access token', () => {
  test('has a form that a scanner can verify, and is stored as a hash only', async () => {
    const { value } = await make()
    expect(value).toMatch(/^lk_pat_[0-9A-Za-z]{49}$/)
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const checksum = [...value.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
    expect(checksum).toBe(crc32(value.slice(0, -6)))
    const stored = JSON.stringify(await rows())
    expect(stored).not.toContain(value)
    expect(stored).not.toContain(value.slice(7, 30))
    expect(JSON.stringify(events)).not.toContain(value.slice(7, 30))
  })

  test('passes the guards of APIs, which see whose it is and what it is called', async () => {
    const guard = host.oauth.requireToken('notes:read')
    host.app.get('/me', guard, ({ auth }, res) => void res.json(auth))
    const { id, value } = await make()
    expect((await guarded(host, value, '/me')).body).toEqual({
      ...{ token: value, subject: '1', clientId: `personal:${id}`, scopes: ['notes:read'] },
      ...{ expiresAt: clock.now() + 30 * day, personalToken: { id, name: 'Backup script' } },
      claims: expect.objectContaining({ iss: 'http://localhost:3000/oauth', sub: '1', iat: clock.now() }),
    })
  })

  test.each<[string, (value: string) => Promise<unknown>]>([
    [
      'another character',
      async (value) => status(`${value.slice(0, -9)}${value.at(-9) === 'x' ? 'y' : 'x'}${value.slice(-8)}`),
    ],
    ['a character more', (value) => status(`${value}0`)],
    ['another prefix', (value) => status(value.replace('lk_pat_', 'lk_at_'))],
    [
      'after its end',
      (value) => {
        clock.travel(30 * day)
        return status(value)
      },
    ],
    [
      'of a user who is disabled',
      async (value) => {
        await host.database.knex(host.usersTable).where({ id: 1 }).update({ disabled_at: 1 })
        return status(value)
      },
    ],
    [
      'after revokeAll()',
      async (value) => {
        await host.oauth.users.revokeAll(1)
        return status(value)
      },
    ],
    [
      'after erase()',
      async (value) => {
        await host.oauth.users.erase(1)
        return status(value)
      },
    ],
  ])('%s is refused', async (_what, use) => {
    const { value } = await make()
    expect(await status(value)).toBe(200)
    expect(await use(value)).toBe(401)
  })

  test('a guard for another scope, a resource or a recent login refuses it', async () => {
    const { value } = await make()
    const resource = 'https://app.example.com/mcp'
    const other = await startHost({
      database: host.database,
      clients: [],
      options: { features, resources: { [resource]: { scopes: ['notes:read'] } } },
    })
    const guards = {
      scope: host.oauth.requireToken('notes:write'),
      login: host.oauth.requireToken('notes:read', { maxAge: 60 }),
      resource: other.oauth.requireToken('notes:read', { resource }),
    }
    const answers: unknown[] = []
    for (const [path, guard] of Object.entries(guards)) {
      host.app.get(`/${path}`, guard, (_req, res) => void res.end())
      const { status, body } = await guarded(host, value, `/${path}`)
      answers.push([status, body.error])
    }
    expect(answers).toEqual([
      [403, 'insufficient_scope'],
      [401, 'insufficient_user_authentication'],
      [401, 'invalid_token'],
    ])
  })

  test('is no token of a client: UserInfo, revocation and exchange refuse it', async () => {
    const { value } = await make()
    expect((await userinfo(host, value)).status).toBe(403)
    expect((await revoke(host, value)).status).toBe(200)
    const type = 'urn:ietf:params:oauth:token-type:access_token'
    for (const name of ['subject_token', 'actor_token']) {
      const tokens = { subject_token: value, subject_token_type: type, [name]: value, [`${name}_type`]: type }
      const asked = { ...web, client_id: 'api', grant_type: tokenExchangeGrantType, ...tokens }
      const { status, body } = await post(host, asked)
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' })
    }
    expect(await status(value)).toBe(200)
  })

  test('is shown by introspection to APIs of the host, and to no other client', async () => {
    const { id, value } = await make()
    expect((await introspect(host, value)).body).toEqual({ active: false })
    expect((await introspect(host, value, { client_id: 'api' })).body).toEqual({
      ...{ active: true, iss: 'http://localhost:3000/oauth', client_id: `personal:${id}`, sub: '1' },
      ...{ scope: 'notes:read', token_type: 'Bearer', iat: clock.now(), exp: clock.now() + 30 * day },
    })
  })

  test('loses scopes that the option no longer has, and all when the option is off', async () => {
    const { value } = await make({ scopes: ['notes:read', 'notes:write'] })
    const started = (more: AuthRouterOptions['features']) =>
      startHost({ database: host.database, clients: [], options: { features: more } })
    const narrow = await started({ personalAccessTokens: { scopes: ['notes:write'] } })
    expect((await guarded(narrow, value)).status).toBe(403)
    expect(await status(value, await started({}))).toBe(401)
    expect(await status(value, await started({ personalAccessTokens: { prefix: 'acme_pat_' } }))).toBe(401)
    expect(await status(value)).toBe(200)
  })

  test('remembers the hour of its last use, in the background', async () => {
    const { value } = await make()
    const used = async () => {
      await status(value)
      await (await server()).close()
      return (await rows())[0].last_used_at
    }
    const first = clock.now()
    expect(Number(await used())).toBe(first)
    clock.travel(3599)
    expect(Number(await used())).toBe(first)
    clock.travel(1)
    expect(Number(await used())).toBe(first + 3600)
  })

  test('counts for the limit of its user until it ends, also of parallel requests', async () => {
    await make({ subject: '2' })
    const choice = { subject: '1', name: 'x', scopes: ['notes:read'], expiresAt: clock.now() + day }
    const context = await server()
    const made = await Promise.all([1, 2, 3, 4, 5, 6].map(() => issuePersonalToken(context, choice)))
    expect(made.filter((one) => one !== undefined)).toHaveLength(3)
    clock.travel(day)
    await make()
    expect((await rows()).map(({ subject }) => subject).sort()).toEqual(['1', '2'])
  })

  test('is exported, erased with its user, and pruned a month after its end', async () => {
    const { id } = await make()
    await make({ subject: String(bob.id) })
    const { personalTokens } = await host.oauth.users.export(1)
    expect(personalTokens).toEqual([
      {
        ...{ id, name: 'Backup script', scopes: ['notes:read'], createdAt: clock.now() },
        ...{ lastUsedAt: null, expiresAt: clock.now() + 30 * day },
      },
    ])
    await host.oauth.users.erase(1)
    expect(await rows()).toEqual([expect.objectContaining({ subject: '2' })])
    const prune = async () => {
      const { database } = await server()
      await removeExpiredRows(database, { now: clock.now(), refreshTokenGracePeriod: 10 })
      return (await rows()).length
    }
    clock.travel(60 * day + 59)
    expect(await prune()).toBe(1)
    clock.travel(1)
    expect(await prune()).toBe(0)
  })

  test('of a member ends with the membership, and says the organization', async () => {
    const members = new Set(['acme'])
    const organizations = () => [...members].map((id) => ({ id, name: id }))
    const many = await startHost({
      database: host.database,
      clients: [],
      options: { features, organizations },
    })
    many.app.get('/org', many.oauth.requireToken('notes:read'), ({ auth }, res) => void res.json(auth))
    const choice = { subject: '1', name: 'x', scopes: ['notes:read'], expiresAt: clock.now() + day }
    const { value = '' } =
      (await issuePersonalToken(await server(many), { ...choice, organization: 'acme' })) ?? {}
    expect((await guarded(many, value, '/org')).body.organization).toBe('acme')
    members.delete('acme')
    expect((await guarded(many, value, '/org')).status).toBe(401)
  })
})
