// Rules of features hold for what was issued already, and the consent page says what they leave out.
import supertest from 'supertest'
import { defineFeature, personalAccessTokens } from '../../lib/features/index.ts'
import type { AccessRule, RuledAccess } from '../../lib/oauth/tokens/access-rules.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'
import {
  ada,
  codeFor,
  expectError,
  guarded,
  introspect,
  redeem,
  refresh,
  tokensFor,
  userinfo,
} from '../support/tokens.ts'

let host: Host
let judge: AccessRule['judge']
const asked: RuledAccess[] = []
const ruling = defineFeature(
  { name: 'ruling' },
  {
    name: 'ruling',
    members: {},
    activate: () => ({
      oauth: {
        accessRules: [
          {
            judge: (server, access) => {
              asked.push(access)
              return judge(server, access)
            },
          },
        ],
      },
    }),
  },
)
const scope = 'openid offline_access notes:read notes:write'
const none: AccessRule['judge'] = async () => undefined
const refusing: AccessRule['judge'] = async () => ({ outcome: 'denied' })
const capping =
  (...left: string[]): AccessRule['judge'] =>
  async () => ({ outcome: 'capped', scopes: left })

beforeAll(async () => {
  host = await startHost({
    options: {
      organizations: () => [{ id: 'acme', name: 'Acme' }],
      features: [ruling(), personalAccessTokens()],
    },
  })
  host.app.post('/api/notes', host.oauth.requireToken('notes:write'), (_req, res) => void res.json({}))
})
afterAll(() => host.close())
beforeEach(() => {
  judge = none
  asked.length = 0
})

const write = (token: string) =>
  supertest(host.app).post('/api/notes').set('Authorization', `Bearer ${token}`)

test('a refusal stops an access token, UserInfo and introspection at the next call, and takes nothing away', async () => {
  const { access_token, refresh_token } = await tokensFor(host, { scope })
  judge = refusing
  expectError(await guarded(host, access_token), 401, 'invalid_token')
  expect((await userinfo(host, access_token)).status).toBe(401)
  for (const token of [access_token, refresh_token])
    expect((await introspect(host, token)).body).toEqual({ active: false })
  judge = none
  expect((await guarded(host, access_token)).status).toBe(200)
  expect((await introspect(host, refresh_token)).body.active).toBe(true)
})

test('a cap takes scopes from a live token, from introspection and from a refresh', async () => {
  const { access_token, refresh_token } = await tokensFor(host, { scope })
  judge = capping('openid', 'offline_access', 'notes:read')
  expect((await guarded(host, access_token)).status).toBe(200)
  const refused = await write(access_token)
  expectError(refused, 403, 'insufficient_scope')
  expect(refused.body.error_description).toContain('notes:write')
  for (const token of [access_token, refresh_token])
    expect((await introspect(host, token)).body.scope).toBe('openid offline_access notes:read')
  const { body } = await refresh(host, refresh_token)
  expect(body.scope).toBe('openid offline_access notes:read')
  judge = none
  expect((await refresh(host, body.refresh_token ?? refresh_token)).body.scope).toBe(scope)
})

test('a rule learns the client, the user, the organization and the scopes', async () => {
  const { access_token } = await tokensFor(host, { scope })
  asked.length = 0
  await guarded(host, access_token)
  expect(asked).toEqual([
    {
      client: { clientId: 'web', metadata: expect.objectContaining({ client_name: 'Web client' }) },
      subject: '1',
      organization: 'acme',
      scopes: scope.split(' '),
    },
  ])
})

test('the consent page says what a rule leaves out, and that is neither granted nor remembered', async () => {
  await host.table('consents').delete()
  judge = capping('openid', 'notes:read')
  const agent = new RawBrowser(host.app)
  const url = authorizeUrl({ client_id: 'web', scope: 'openid notes:read notes:write' })
  const page = await agent.signIn(await agent.open(url), ada.email, ada.password)
  expect(textOf(page)).toMatch(/Not included\s+Write notes for you/)
  expect(page.html).not.toContain('name="scope:notes:write"')
  const answer = await agent.submit(page, 'value="allow"', { decision: 'allow', 'scope:notes:write': 'on' })
  const { body } = await redeem(host, answer.location!.searchParams.get('code')!)
  expect(body.scope).toBe('openid notes:read')
  // What was not offered is not asked for again while the rule stands, and is asked for when it is gone.
  expect((await agent.open(url)).location?.searchParams.has('code')).toBe(true)
  judge = none
  const again = await agent.open(url)
  expect([again.status, again.url.pathname]).toEqual([200, '/oauth/consent'])
  expect(again.html).toContain('name="scope:notes:write"')
})

test('a code for scopes that no rule leaves any more is refused, and works when they are back', async () => {
  const code = await codeFor(host, { scope: 'openid notes:read' })
  judge = capping()
  expectError(await redeem(host, code), 400, 'access_denied')
  judge = none
  expect((await redeem(host, code)).status).toBe(200)
})

test('a server without rules asks nothing', async () => {
  const plain = await startHost()
  try {
    const { access_token } = await tokensFor(plain, { scope: 'openid notes:read' })
    asked.length = 0
    expect((await guarded(plain, access_token)).status).toBe(200)
    expect(asked).toEqual([])
  } finally {
    await plain.close()
  }
})
