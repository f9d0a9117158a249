import supertest from 'supertest'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { actingAs } from '../../lib/tools/testing/index.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { claimsOf, codeOf, expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { answerOf, bob, expectError, introspect, redeem, refresh, userinfo } from '../support/tokens.ts'
import {
  acme,
  asked,
  choicesOf,
  choose,
  events,
  globex,
  guarded,
  host,
  initech,
  logged,
  members,
  options,
  request,
  tokensFor,
  withOrganizations,
} from './organizations.ts'

withOrganizations()

describe('a user who has left the organization', () => {
  test('has no valid code and token until they are back; those of other organizations stay', async () => {
    const { agent, tokens } = await tokensFor(acme)
    const other = (await tokensFor(globex, agent)).tokens
    const code = codeOf(await agent.get(authorizeUrl({ ...request, organization: 'acme' })))
    members.set('1', [globex])
    expectError(await redeem(host, code), 400, 'invalid_grant')
    expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(host, token)).body).toEqual({ active: false })
    for (const answer of [await userinfo(host, tokens.access_token), await guarded(tokens)]) {
      expectError(answer, 401, 'invalid_token')
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    }
    expect((await guarded(other)).body).toEqual({ organization: globex.id })
    await refresh(host, other.refresh_token).expect(200)

    members.set('1', [acme])
    expect((await guarded(tokens)).body).toEqual({ organization: 'acme' })
    await redeem(host, code).expect(200)
    await refresh(host, tokens.refresh_token).expect(200)
    expect((await guarded(other)).status).toBe(401)
  })

  test('cannot make a refresh token look reused', async () => {
    const { tokens } = await tokensFor(acme)
    const next = await answerOf(refresh(host, tokens.refresh_token))
    members.set('1', [])
    expectError(await refresh(host, next.refresh_token), 400, 'invalid_grant')
    expect(events.map(({ type }) => type)).not.toContain('authorization.revoked')
    members.set('1', [acme])
    await refresh(host, next.refresh_token).expect(200)
  })
})

describe('an invalid answer of the host', () => {
  const faults: [string, unknown][] = [
    ['an error', new Error('the directory of Acme is unavailable')],
    ['an id that is no text', [{ id: 7, name: 'the directory of Acme' }]],
  ]

  test.each(faults)('is logged and never shown: %s', async (_, fault) => {
    const { agent, page } = await asked()
    const consent = await choose(agent, page, acme)
    const { tokens } = await tokensFor(acme)
    members.set('1', fault)
    logged.length = 0
    const fields = fieldsOf(consent, 'value="allow"')
    const pages = [
      await agent.get(authorizeUrl({ ...request, prompt: 'none' })),
      await agent.get(page.url.href),
      await agent.post('/oauth/consent', { ...fields, decision: 'allow' }),
      await agent.get('/oauth/account'),
    ]
    for (const answer of pages) {
      expectErrorPage(answer, 500)
      expect(answer.html).not.toMatch(/directory|organizations must/)
    }
    const answers = [
      await refresh(host, tokens.refresh_token),
      await introspect(host, tokens.access_token),
      await introspect(host, tokens.refresh_token),
      await userinfo(host, tokens.access_token),
      await guarded(tokens),
    ]
    for (const answer of answers) {
      expectError(answer, 500, 'server_error')
      expect(answer.text).not.toMatch(/directory|organizations must/)
    }
    expect(logged).toHaveLength(9)
    const line = expect.stringMatching(
      /^latchkey: server_error [0-9A-F-]{12} \(docs\/errors\.md#server_error\): the option organizations failed: /,
    )
    const failed = { message: 'latchkey: the option organizations failed', cause: expect.anything() }
    for (const words of logged) expect(words).toEqual([line, expect.objectContaining(failed)])
    members.set('1', [acme, globex])
    await refresh(host, tokens.refresh_token).expect(200)
  })
})

describe('connected apps', () => {
  const listOf = ({ html }: Answer) =>
    (html.match(/<details class="client"[\s\S]*?<\/details>/g) ?? []).map((section) => ({
      name: /class="name"><bdi>(.*?)</.exec(section)?.[1],
      organization: /Workspace <bdi>(.*?)</.exec(section)?.[1],
      remove: /href="(\/oauth\/account[^"]*)"/.exec(section)?.[1]?.replaceAll('&amp;', '&') ?? '',
    }))
  const shown = async (agent: RawBrowser) => {
    const list = listOf(await agent.open('/oauth/account'))
    return list.map(({ name, organization }) => `${name}: ${organization}`).sort()
  }
  const removalOf = async (agent: RawBrowser, organization: string): Promise<Answer> => {
    const entry = listOf(await agent.open('/oauth/account')).find((one) => one.organization === organization)
    return agent.open(entry?.remove ?? '')
  }
  const both = async () => {
    const { agent, tokens } = await tokensFor(acme)
    return { agent, acmes: tokens, globexes: (await tokensFor(globex, agent)).tokens }
  }

  test('list a client once per workspace; one that the user left shows as its id and is removable', async () => {
    const { agent, globexes } = await both()
    expect(await shown(agent)).toEqual(['Web client: Acme &amp; Sons', 'Web client: Globex'])
    members.set('1', [acme])
    expect(await shown(agent)).toEqual(['Web client: 7f0c-globex', 'Web client: Acme &amp; Sons'])
    await agent.submit(await removalOf(agent, globex.id), 'csrf_token')
    expect(await shown(agent)).toEqual(['Web client: Acme &amp; Sons'])
    members.set('1', [acme, globex])
    expect((await guarded(globexes)).status).toBe(401)
  })

  test('removing one ends that one and no other', async () => {
    const { agent, acmes, globexes } = await both()
    const page = await removalOf(agent, 'Globex')
    expect(textOf(page)).toContain('Web client loses access to the workspace Globex immediately')
    const done = await agent.submit(page, 'csrf_token')
    expect(textOf(done)).toContain('Access removed. Web client can no longer use the workspace Globex.')
    expect(listOf(done).map(({ organization }) => organization)).toEqual(['Acme &amp; Sons'])

    expect((await guarded(globexes)).status).toBe(401)
    expectError(await refresh(host, globexes.refresh_token), 400, 'invalid_grant')
    expect((await guarded(acmes)).body).toEqual({ organization: 'acme' })
    await refresh(host, acmes.refresh_token).expect(200)
    const again = await agent.open(authorizeUrl({ ...request, organization: globex.id }))
    expect(pageOf(again)).toBe('200 /consent')
    codeOf(await agent.get(authorizeUrl({ ...request, organization: 'acme' })))
    expect(events.filter(({ type }) => type === 'consent.removed')).toMatchObject([
      { subject: '1', clientId: 'web', organization: globex.id },
    ])
  })

  test('removing one ends all of it, of more than goes in one batch', async () => {
    const { agent } = await both()
    const rows = await host.table('authorizations')
    for (const row of rows) {
      const copies = Array.from({ length: 130 }, (_, n) => `${row.id.slice(0, 20)}-${n}`)
      await host.table('authorizations').insert(copies.map((id) => ({ ...row, id, code_hash: id })))
    }
    await agent.submit(await removalOf(agent, 'Globex'), 'csrf_token')
    const standing = await host.table('authorizations').whereNull('revoked_at')
    expect(standing).toHaveLength(131)
    for (const { request: stored } of standing) expect(JSON.parse(stored).organization).toBe('acme')
  })

  test('the form of one workspace removes no other, and an address shows no text of its author', async () => {
    const { agent, acmes } = await both()
    const page = await removalOf(agent, 'Globex')
    const fields = fieldsOf(page, 'csrf_token')
    expect(fields).toEqual({
      client_id: 'web',
      organization: globex.id,
      decision: 'remove',
      csrf_token: expect.any(String),
    })
    expectErrorPage(await agent.post('/oauth/account', { ...fields, organization: 'acme' }), 403)
    const { organization: _, ...without } = fields
    expectErrorPage(await agent.post('/oauth/account', without), 403)
    expect((await guarded(acmes)).status).toBe(200)
    expect(await shown(agent)).toHaveLength(2)
    for (const organization of ['Call 555 0100', 'acme', globex.id]) {
      const forged = await agent.open(
        `/oauth/account?${new URLSearchParams({ removed: 'web', organization })}`,
      )
      expect(textOf(forged)).not.toMatch(/555|Access removed/)
    }
  })

  test('a removal beside a code that is being issued leaves no live token', async () => {
    const { agent } = await both()
    const page = await removalOf(agent, 'Globex')
    const [removed, ...issued] = await Promise.all([
      agent.submit(page, 'csrf_token'),
      ...[1, 2, 3].map(() => agent.clone().get(authorizeUrl({ ...request, organization: globex.id }))),
    ])
    expect(removed.status).toBe(200)
    for (const answer of issued) {
      const code = answer.location?.searchParams.get('code')
      if (code) expectError(await redeem(host, code), 400, 'invalid_grant')
    }
    expect(await shown(agent)).toEqual(['Web client: Acme &amp; Sons'])
  })
})

test('what is kept about a user contains the workspaces, and is erased with the user', async () => {
  await tokensFor(globex)
  const { consents, authorizations, receipts } = await host.oauth.users.export(1)
  expect(consents).toMatchObject([{ clientId: 'web', organization: globex.id }])
  expect(authorizations).toMatchObject([{ clientId: 'web', organization: globex.id }])
  expect(receipts).toMatchObject([{ clientId: 'web', organization: globex }])
  await host.oauth.users.erase(1)
  const nothing = { consents: [], receipts: [], authorizations: [], logins: [] }
  expect(await host.oauth.users.export(1)).toEqual(nothing)
  expect(await host.table('consents').where({ subject: '1' })).toEqual([])
})

test('actingAs() takes a workspace, or the only one, and refuses impossible tokens', async () => {
  const get = (headers: Record<string, string>) => supertest(host.app).get('/api/organization').set(headers)
  const { headers } = await actingAs(host.oauth, 1, '', { organization: globex.id })
  expect((await get(headers)).body).toEqual({ organization: globex.id })
  expect((await get((await actingAs(host.oauth, 2)).headers)).body).toEqual({ organization: initech.id })
  await expect(actingAs(host.oauth, 1)).rejects.toThrow('several organizations')
  await expect(actingAs(host.oauth, 1, '', { organization: 'initech' })).rejects.toThrow('does not belong')
  members.set('2', [])
  await expect(actingAs(host.oauth, 2)).rejects.toThrow('belongs to no organization')
})

describe('a host', () => {
  const other = (more: Partial<AuthRouterOptions>): Promise<Host> =>
    startHost({ database: host.database, options: { ...users(), ...more } })
  const users = (): Partial<AuthRouterOptions> => ({ ...options, organizations: undefined })

  test('without organizations shows none and has no claim for them', async () => {
    const plain = await startHost()
    const agent = new RawBrowser(plain.app)
    const named = authorizeUrl({ ...request, organization: 'a\0b' })
    const page = await agent.signIn(await agent.open(named))
    expect(page.html).not.toMatch(/organization|workspace/i)
    const done = await agent.decide(page, 'allow', { organization: 'acme' })
    const tokens = await answerOf(redeem(plain, codeOf(done)))
    expect(claimsOf(tokens.id_token)).not.toHaveProperty('org_id')
    expect((await userinfo(plain, tokens.access_token)).body).not.toHaveProperty('org_id')
    codeOf(await agent.get(named))
    const rows = await plain.table('consents')
    expect(rows.map(({ organization }) => organization)).toEqual([''])
    const metadata = await supertest(plain.app).get('/oauth/.well-known/openid-configuration')
    expect(metadata.body.claims_supported).not.toContain('org_id')
    const own = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
    expect(own.body.claims_supported.filter((name: string) => name === 'org_id')).toHaveLength(1)
    const acting = actingAs(plain.oauth, 1, '', { organization: 'acme' })
    await expect(acting).rejects.toThrow('requires the option organizations')
    await plain.close()
  })

  test('that adds organizations refuses earlier tokens, which are for none, and then asks for one', async () => {
    const before = await other({})
    const agent = new RawBrowser(before.app)
    const page = await agent.signIn(await agent.open(authorizeUrl(request)))
    const tokens = await answerOf(redeem(before, codeOf(await agent.decide(page, 'allow'))))
    expect((await userinfo(before, tokens.access_token)).status).toBe(200)
    expectError(await guarded(tokens), 401, 'invalid_token')
    expectError(await userinfo(host, tokens.access_token), 401, 'invalid_token')
    expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
    for (const token of [tokens.access_token, tokens.refresh_token])
      expect((await introspect(host, token)).body).toEqual({ active: false })
    // Nothing is revoked, in case the option was a mistake.
    await refresh(before, tokens.refresh_token).expect(200)
    const { page: now } = await asked()
    expect(choicesOf(now)).toHaveLength(2)
    // Bob has one; what he allows is allowed for that one.
    const { agent: bobs, page: first } = await asked(request, bob)
    codeOf(await bobs.decide(first, 'allow'))
    expect(await host.table('consents').where({ subject: '2' })).toMatchObject([{ organization: initech.id }])
  })

  test('that removes organizations keeps its tokens, and its users see each client once', async () => {
    const { agent, tokens } = await tokensFor(acme)
    await tokensFor(globex, agent)
    const after = await other({})
    members.set('1', [])
    expect((await userinfo(after, tokens.access_token)).body).toMatchObject({ org_id: 'acme' })
    const again = new RawBrowser(after.app)
    const list = await again.signIn(await again.open('/oauth/account'))
    expect(list.html.match(/<details class="client"/g)).toHaveLength(1)
    const remove = /href="(\/oauth\/account\?[^"]*)"/.exec(list.html)?.[1] ?? ''
    await again.submit(await again.open(remove), 'csrf_token')
    expect((await userinfo(after, tokens.access_token)).status).toBe(401)
    expect(await host.table('consents')).toEqual([])
  })
})

const isPostgres = process.env.DATABASE_URL?.startsWith('postgres') === true

test('needs no additional statement', async () => {
  const { agent, tokens } = await tokensFor(acme)
  await tokensFor(globex, agent)
  const { knex, tablePrefix } = host.database
  const count = await countStatements(knex, [`${tablePrefix}sessions`, host.usersTable])
  const during = async (run: () => PromiseLike<unknown>): Promise<number> => {
    await run()
    count.reset()
    await run()
    return count.ours.length
  }
  let { refresh_token } = tokens
  expect({
    'authorize and token': await during(async () => {
      const named = authorizeUrl({ client_id: 'web', scope: 'openid email', organization: 'acme' })
      await answerOf(redeem(host, codeOf(await agent.get(named))))
    }),
    refresh: await during(async () => {
      refresh_token = (await answerOf(refresh(host, refresh_token))).refresh_token
    }),
    userinfo: await during(() => userinfo(host, tokens.access_token).expect(200)),
    introspection: await during(() => introspect(host, tokens.access_token).expect(/"active":true/)),
    guard: await during(() => guarded(tokens).expect(200)),
  }).toEqual({
    // On PostgreSQL a conditional write is one statement.
    ...(isPostgres ? { 'authorize and token': 4, refresh: 2 } : { 'authorize and token': 7, refresh: 4 }),
    userinfo: 1,
    introspection: 2,
    guard: 1,
  })
})
