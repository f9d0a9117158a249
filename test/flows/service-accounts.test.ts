import { defineFeature, developers, type WithDevelopers } from '../../lib/features/index.ts'
import type { RuleAnswer, RuledAccess } from '../../lib/oauth/tokens/access-rules.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import { secret as apiSecret, startHost } from '../support/host.ts'
import { pageOf, type RawBrowser, textOf } from '../support/raw-browser.ts'
import { asserted, assertion, createClientKey } from '../support/signing-client.ts'
import { answerOf, bob, expectError, introspect, post } from '../support/tokens.ts'
import {
  accounts,
  accountUrl,
  admin,
  ask,
  confirmUrl,
  editUrl,
  events,
  filledIn,
  host,
  jwtApi,
  listUrl,
  make,
  member,
  members,
  newUrl,
  options,
  projects,
  shownId,
  shownSecret,
  signedIn,
  tokenOf,
  who,
  withServiceAccounts,
} from './service-accounts.ts'

withServiceAccounts()

const day = 86_400
const api = { client_id: 'api', client_secret: apiSecret }
const typesOf = () => events.map(({ type }) => type).filter((type) => type.startsWith('service_account.'))
const eventOf = (type: string) => events.find((event) => event.type === type)

/** Fills in the form of a new account. */
const create = async (agent: RawBrowser, fields: Record<string, string> = {}) =>
  agent.submit(await agent.open(newUrl), 'name="name"', { ...filledIn, ...fields })

/** Presses the button of a page that asks first. */
const confirm = async (agent: RawBrowser, clientId: string, act: string) =>
  agent.submit(await agent.open(confirmUrl(clientId, act)), 'value="confirm"')

describe('an administrator', () => {
  test('makes an account, whose secret is shown once, and whose tokens act for the organization', async () => {
    const agent = await signedIn()
    const made = await create(agent)
    const [clientId, secret] = [shownId(made), shownSecret(made)!]
    expect(textOf(made)).toContain('The service account is ready.')
    expect(textOf(await agent.open(accountUrl(clientId)))).not.toContain(secret)
    const answer = await answerOf(ask({ clientId, secret }))
    expect(answer.refresh_token).toBeUndefined()
    expect((await who(answer.access_token)).body).toEqual({
      clientId,
      organization: 'acme',
      subject: null,
      scopes: ['tasks:read'],
      projects: ['p1'],
    })
    const list = textOf(await agent.open(listUrl))
    expect(list).toContain('Nightly export')
    expect(eventOf('service_account.created')).toMatchObject({ organization: 'acme', clientId, subject: '1' })
    expect(eventOf('tokens.issued')).toMatchObject({ organization: 'acme', clientId })
    expect(JSON.stringify(events)).not.toContain(secret)
  })

  test('sees the account in introspection, in a JWT and behind a guard for chosen things', async () => {
    const account = await make()
    const token = await tokenOf(account)
    const { body } = await introspect(host, token, api)
    expect(body).toMatchObject({ active: true, org_id: 'acme', sub: account.clientId })
    expect(body.authorization_details).toEqual([
      { type: 'project', actions: ['tasks:read'], identifiers: ['p1'] },
    ])
    expect((await who(token, '/api/projects/p1')).status).toBe(200)
    expectError(await who(token, '/api/projects/p2'), 403, 'insufficient_scope')
    const jwt = await tokenOf(account, { resource: jwtApi })
    expect((await who(jwt, '/api/jwt')).body).toEqual({ organization: 'acme', projects: ['p1'] })
  })

  test.each<[string, Record<string, string>, string]>([
    ['no name', { name: ' ' }, 'Enter a name'],
    ['a name that turns the text around', { name: 'a\u202eb' }, 'Enter a name'],
    ['no permission', { 'scope:tasks:read': '' }, 'Choose at least one permission'],
    ['no project', { 'thing:project:p1': '' }, 'Choose what it can use'],
    [
      'a project that is not theirs to give',
      { 'thing:project:p1': '', 'thing:project:b1': 'on' },
      'no longer',
    ],
    ['an end that is not offered', { days: '4000' }, 'Choose when it expires'],
    [
      'a private key',
      { method: 'key', key: '{"kty":"OKP","crv":"Ed25519","x":"AA","d":"AA"}' },
      'never a private key',
    ],
  ])('sees the mistake in a form with %s', async (_what, fields, message) => {
    const agent = await signedIn()
    const page = await agent.open(newUrl)
    const form = { ...filledIn, ...fields }
    const sent = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''))
    const left = Object.keys(form).filter((name) => !(name in sent))
    const answer = await agent.submit(
      {
        ...page,
        html: left.reduce((html, name) => html.replaceAll(`name="${name}"`, 'name="x"'), page.html),
      },
      'name="name"',
      sent,
    )
    expect(answer.status).toBe(400)
    expect(textOf(answer)).toContain(message)
    expect(await accounts().list('acme')).toEqual([])
  })

  test('sees a name with markup as text', async () => {
    const agent = await signedIn()
    const made = await create(agent, { name: '<img src=x onerror=alert(1)>' })
    for (const page of [
      made,
      await agent.open(listUrl),
      await agent.open(confirmUrl(shownId(made), 'remove')),
    ]) {
      expect(page.html).not.toContain('<img src=x')
      expect(textOf(page)).toContain('&lt;img src=x')
    }
  })

  test('who sends a form twice makes one account and keeps its secret', async () => {
    const agent = await signedIn()
    const page = await agent.open(newUrl)
    const form = await agent.submit(page, 'name="name"', filledIn)
    const secret = shownSecret(form)!
    const again = await agent.submit(page, 'name="name"', filledIn)
    expect(pageOf(again)).toBe('200 /account')
    expect(shownId(again)).toBe(shownId(form))
    expect(await accounts().list('acme')).toHaveLength(1)
    expect((await ask({ clientId: shownId(form), secret })).status).toBe(200)
  })

  test('makes at most as many accounts as the host allows, also in parallel', async () => {
    const agent = await signedIn()
    const pages = await Promise.all(Array.from({ length: 5 }, () => agent.open(newUrl)))
    const answers = await Promise.all(pages.map((page) => agent.submit(page, 'name="name"', filledIn)))
    expect(answers.map(pageOf).sort()).toEqual([
      ...Array(3).fill('200 /account'),
      ...Array(2).fill('200 /accounts'),
    ])
    expect(await accounts().list('acme')).toHaveLength(3)
    expect(textOf(await agent.open(listUrl))).toContain('the limit of 3')
    expect((await make({}, 'globex')).clientId).toMatch(/./)
  })

  test('changes what an account may do, and its tokens lose it at the next call', async () => {
    const account = await make({ scopes: ['tasks:read', 'tasks:write'], choices: { project: ['p1', 'p2'] } })
    const token = await tokenOf(account)
    const agent = await signedIn()
    const page = await agent.open(editUrl(account.clientId))
    expect(page.html).toMatch(/name="thing:project:p2" value="on" checked/)
    const html = page.html
      .replace('name="scope:tasks:write"', 'name="x"')
      .replace('name="thing:project:p2"', 'name="y"')
    const saved = await agent.submit({ ...page, html }, 'name="name"', { name: 'Renamed', decision: 'save' })
    expect(textOf(saved)).toContain('Your changes are saved.')
    expect((await who(token)).body).toMatchObject({ scopes: ['tasks:read'], projects: ['p1'] })
    expect(textOf(await agent.open(listUrl))).toContain('Renamed')
    expect(typesOf()).toEqual(['service_account.created', 'service_account.changed'])
  })

  test('removes an account, and its tokens and its secret end', async () => {
    const account = await make()
    const token = await tokenOf(account)
    const agent = await signedIn()
    expect(textOf(await confirm(agent, account.clientId, 'remove'))).toContain(
      'The service account is removed.',
    )
    expectError(await who(token), 401, 'invalid_token')
    expectError(await ask(account), 401, 'invalid_client')
    expect(eventOf('service_account.removed')).toMatchObject({ clientId: account.clientId, subject: '1' })
    expect(await host.table('service_account_secrets').select()).toEqual([])
  })

  test('is asked to slow down after 60 changes in an hour, which cost no one else anything', async () => {
    stopClock()
    const account = await make()
    const agent = await signedIn()
    const page = await agent.open(editUrl(account.clientId))
    for (let count = 0; count < 60; count += 1)
      await agent.submit(page, 'name="name"', { decision: 'save', name: `Export ${count}` })
    const late = await agent.submit(page, 'name="name"', { decision: 'save', name: 'One too many' })
    expect(late.status).toBe(429)
    members.set('2', [admin('acme')])
    const other = await signedIn(bob)
    projects.set('2', [{ id: 'p1', name: 'Hiring plan' }])
    expect(textOf(await create(other))).toContain('The service account is ready.')
  })
})

describe('two secrets', () => {
  test('work side by side after a replacement, for a day, with the last use of each', async () => {
    const clock = stopClock()
    const account = await make()
    await tokenOf(account)
    clock.travel(3600)
    const agent = await signedIn()
    const page = await confirm(agent, account.clientId, 'replace')
    const next = { ...account, secret: shownSecret(page)! }
    expect((await ask(account)).status).toBe(200)
    clock.travel(60)
    expect((await ask(next)).status).toBe(200)
    await serverBehind(host.oauth)?.settled()
    const [found] = await accounts().list('acme')
    expect(found?.secrets).toEqual([
      { isCurrent: true, createdAt: clock.now() - 60, lastUsedAt: clock.now(), until: null },
      {
        isCurrent: false,
        createdAt: clock.now() - 3660,
        lastUsedAt: clock.now() - 60,
        until: clock.now() - 60 + day,
      },
    ])
    clock.travel(day)
    expectError(await ask(account), 401, 'invalid_client')
    expect((await ask(next)).status).toBe(200)
  })

  test.each<[which: 'revoke' | 'revoke-previous', ended: 'old' | 'new']>([
    ['revoke-previous', 'old'],
    ['revoke', 'new'],
  ])('after %s the %s one ends at once with all tokens, and the other one works', async (act, ended) => {
    const account = await make()
    const old = await tokenOf(account)
    const next = { ...account, ...(await accounts().replaceSecret('acme', account.clientId)) }
    const token = await tokenOf(next)
    const jwt = await tokenOf(next, { resource: jwtApi })
    const agent = await signedIn()
    expect(textOf(await confirm(agent, account.clientId, act))).toContain('The secret no longer works.')
    for (const each of [old, token]) expectError(await who(each), 401, 'invalid_token')
    expect((await introspect(host, jwt, api)).body).toEqual({ active: false })
    const [dead, alive] = ended === 'old' ? [account, next] : [next, account]
    expectError(await ask(dead), 401, 'invalid_client')
    expect((await who(await tokenOf(alive))).status).toBe(200)
    expect(typesOf().at(-1)).toBe('service_account.secret_revoked')
  })

  test('a form of replacement that is sent twice replaces once, so that the old secret goes on', async () => {
    const account = await make()
    const agent = await signedIn()
    const page = await agent.open(confirmUrl(account.clientId, 'replace'))
    const first = await agent.submit(page, 'value="confirm"')
    const again = await agent.submit(page, 'value="confirm"')
    expect(pageOf(again)).toBe('200 /account')
    for (const secret of [account.secret, shownSecret(first)!])
      expect((await ask({ ...account, secret })).status).toBe(200)
  })

  test('without any, an account gets another one', async () => {
    const account = await make()
    await accounts().revokeSecret('acme', account.clientId, 'current')
    expectError(await ask(account), 401, 'invalid_client')
    const agent = await signedIn()
    expect(textOf(await agent.open(accountUrl(account.clientId)))).toContain('It has no secret')
    const made = await confirm(agent, account.clientId, 'replace')
    expect((await ask({ ...account, secret: shownSecret(made)! })).status).toBe(200)
  })

  test('a token that is asked for while the secret is revoked is refused', async () => {
    const account = await make()
    const token = tokenOf(account)
    await Promise.all([token, accounts().revokeSecret('acme', account.clientId, 'current')])
    expectError(await who(await token), 401, 'invalid_token')
  })
})

describe('an account with a key', () => {
  test('signs in with it, and another key ends the tokens of the first', async () => {
    const [first, second] = [await createClientKey('ES256', 'one'), await createClientKey('ES256', 'two')]
    const agent = await signedIn()
    const made = await create(agent, { method: 'key', key: JSON.stringify(first.publicJwk) })
    const clientId = shownId(made)
    expect(shownSecret(made)).toBeUndefined()
    expect(textOf(made)).not.toContain('Secrets')
    const grant = { grant_type: 'client_credentials' }
    const asks = async (key: typeof first) =>
      post(host, { ...grant, ...asserted(await assertion(clientId, key)) })
    const { access_token: token } = await answerOf(asks(first))
    expect((await who(token)).body.organization).toBe('acme')
    const page = await agent.open(editUrl(clientId))
    await agent.submit(page, 'name="name"', { decision: 'save', key: JSON.stringify(second.publicJwk) })
    expectError(await who(token), 401, 'invalid_token')
    expectError(await asks(first), 401, 'invalid_client')
    expect((await asks(second)).status).toBe(200)
  })
})

describe('an account', () => {
  test('ends when it expires, with its tokens, and works again when it is extended', async () => {
    const clock = stopClock()
    const account = await make({ expiresIn: 30 * day })
    clock.travel(30 * day - 60)
    const token = await tokenOf(account)
    expect((await who(token)).status).toBe(200)
    clock.travel(60)
    expectError(await who(token), 401, 'invalid_token')
    expectError(await ask(account), 400, 'unauthorized_client')
    const agent = await signedIn()
    const page = await agent.open(editUrl(account.clientId))
    expect(textOf(await agent.open(accountUrl(account.clientId)))).toContain('has expired')
    await agent.submit(page, 'name="name"', { decision: 'save', days: '90' })
    expect((await who(await tokenOf(account))).status).toBe(200)
  })

  test('whose end is moved nearer loses the tokens that would last longer', async () => {
    const clock = stopClock()
    const account = await make()
    const token = await tokenOf(account)
    await accounts().update('acme', account.clientId, { expiresIn: 60 })
    clock.travel(59)
    expect((await who(token)).status).toBe(200)
    clock.travel(1)
    expectError(await who(token), 401, 'invalid_token')
  })

  test('stays when who made it leaves or is erased; the page says who is responsible', async () => {
    members.set('2', [admin('acme')])
    projects.set('2', [{ id: 'p1', name: 'Hiring plan' }])
    const made = await create(await signedIn(bob))
    const account = { clientId: shownId(made), secret: shownSecret(made)! }
    const agent = await signedIn()
    const shown = async () => textOf(await agent.open(accountUrl(account.clientId)))
    expect(await shown()).toContain('bob@example.com')
    expect((await host.oauth.users.export(2)).serviceAccounts).toEqual([
      expect.objectContaining({ clientId: account.clientId, organization: 'acme' }),
    ])
    members.set('2', [])
    expect(await shown()).toContain('The administrators of Acme &amp; Sons are responsible')
    await host.oauth.users.erase(2)
    expect(await shown()).not.toContain('bob@example.com')
    expect((await host.oauth.users.export(2)).serviceAccounts).toBeUndefined()
    expect((await who(await tokenOf(account))).status).toBe(200)
  })

  test('belongs to its organization: no other way changes what it is', async () => {
    const { clientId } = await make()
    expect((await host.oauth.clients.get(clientId))?.owned_by).toMatchObject({ id: 'acme' })
    const changes = {
      redirect_uris: ['https://evil.example.com/'],
      grant_types: ['authorization_code' as const],
    }
    await expect(host.oauth.clients.update(clientId, changes)).rejects.toThrow('belongs to an organization')
    await expect(host.oauth.clients.update(clientId, { owned_by: undefined } as object)).rejects.toThrow(
      'belongs to an organization',
    )
    const forged = { client_name: 'x', owned_by: { id: 'acme', until: 1e12, generation: 1 } }
    await expect(host.oauth.clients.create(forged)).rejects.toThrow('owned_by is not client metadata')
    await host.oauth.clients.disable(clientId)
    const agent = await signedIn()
    expect(textOf(await agent.open(accountUrl(clientId)))).toContain('has disabled this service account')
    await host.oauth.clients.delete(clientId)
    expect(await host.table('service_accounts').select()).toEqual([])
  })

  test('is exported and erased with its organization', async () => {
    const account = await make()
    const other = await make({ choices: { project: ['b1'] } }, 'globex')
    const token = await tokenOf(account)
    expect(await host.oauth.organizations.export('acme')).toMatchObject({
      serviceAccounts: [{ clientId: account.clientId, organization: 'acme' }],
    })
    await host.oauth.organizations.erase('acme')
    expectError(await who(token), 401, 'invalid_token')
    expect(await accounts().list('acme')).toEqual([])
    expect((await ask(other)).status).toBe(200)
  })
})

describe('everyone else', () => {
  test.each(['accounts', 'accounts/new', 'account', 'account/edit', 'account/confirm'])(
    'cannot open /organization/%s, whatever id is in the URL',
    async (path) => {
      const { clientId } = await make()
      const agent = await signedIn(bob)
      const url = `/oauth/organization/${path}`
      for (const organization of ['acme', 'unknown', '', 'ACME', 'acme ']) {
        const query = new URLSearchParams({ organization, account: clientId, act: 'remove', role: 'admin' })
        const page = await agent.open(`${url}?${query}`)
        expect([page.status, textOf(page).includes('Nightly export')]).toEqual([403, false])
      }
      // An administrator of another organization gets what an unknown account gets.
      if (!path.startsWith('account/') && path !== 'account') return
      const own = new URLSearchParams({ organization: 'globex', account: clientId, act: 'remove' })
      expect((await agent.open(`${url}?${own}`)).status).toBe(404)
    },
  )

  test('cannot use a form of their own organization for an account of another one', async () => {
    const foreign = await make()
    const own = await make({ choices: { project: ['b1'] } }, 'globex')
    const agent = await signedIn(bob)
    for (const [url, has] of [
      [editUrl(own.clientId, 'globex'), 'name="name"'],
      [confirmUrl(own.clientId, 'remove', 'globex'), 'value="confirm"'],
      [confirmUrl(own.clientId, 'replace', 'globex'), 'value="confirm"'],
      [confirmUrl(own.clientId, 'revoke', 'globex'), 'value="confirm"'],
    ] as const) {
      const page = await agent.open(url)
      const forgeries: Record<string, string>[] = [
        { account: foreign.clientId },
        { organization: 'acme' },
        { account: foreign.clientId, organization: 'acme' },
      ]
      for (const fields of forgeries) {
        const answer = await agent.submit(page, has, fields)
        expect([403, 404]).toContain(answer.status)
      }
    }
    expect((await ask(foreign)).status).toBe(200)
    expect(typesOf()).toEqual(['service_account.created', 'service_account.created'])
  })

  test('who is no administrator any more cannot send a form that they opened before', async () => {
    const account = await make()
    const agent = await signedIn()
    const [form, question] = [
      await agent.open(newUrl),
      await agent.open(confirmUrl(account.clientId, 'remove')),
    ]
    members.set('1', [member('acme')])
    expect((await agent.submit(form, 'name="name"', filledIn)).status).toBe(403)
    expect((await agent.submit(question, 'value="confirm"')).status).toBe(403)
    expect(await accounts().list('acme')).toHaveLength(1)
  })

  test('cannot reach an account through the host’s functions under another organization', async () => {
    const { clientId } = await make()
    const all = accounts()
    for (const attempt of [
      () => all.update('globex', clientId, { name: 'Mine' }),
      () => all.replaceSecret('globex', clientId),
      () => all.revokeSecret('globex', clientId, 'current'),
      () => all.remove('globex', clientId),
      () => all.remove('acme', 'web'),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'invalid_client' })
  })
})

test('another process refuses a secret and its tokens at the next request after they are revoked', async () => {
  const account = await make()
  const token = await tokenOf(account)
  const other = await startHost({ database: host.database, clients: [], options })
  other.app.get(
    '/api/who',
    other.oauth.requireToken('tasks:read', { user: false }),
    (_req, res) => void res.end(),
  )
  expect((await who(token, '/api/who', other)).status).toBe(200)
  await accounts().revokeSecret('acme', account.clientId, 'current')
  expectError(await who(token, '/api/who', other), 401, 'invalid_token')
  expectError(await ask(account, {}, other), 401, 'invalid_client')
})

test('an account cannot be given to a user as a developer', async () => {
  const features = [...(options.features ?? []), developers({ allow: () => true })] as const
  const settings = { ...options, features }
  const { oauth } = await startHost({ database: host.database, clients: [], options: settings })
  const account = await make()
  const given = oauth as unknown as WithDevelopers
  await expect(given.developers.transfer(account.clientId, 2)).rejects.toThrow('belongs to an organization')
  expect(await given.developers.list()).toEqual([])
})

test('rules of other features hold for an account, before a token is issued and when it is used', async () => {
  let answer: RuleAnswer | undefined
  const asked: RuledAccess[] = []
  const judge = async (_server: unknown, access: RuledAccess) => {
    asked.push(access)
    return answer
  }
  const rules = defineFeature(
    { name: 'rules' },
    { name: 'rules', members: {}, activate: () => ({ oauth: { accessRules: [{ judge }] } }) },
  )
  const features = [...(options.features ?? []), rules()]
  const ruled = await startHost({ database: host.database, clients: [], options: { ...options, features } })
  const guard = ruled.oauth.requireToken('tasks:read', { user: false })
  ruled.app.get('/api/who', guard, ({ auth }, res) => void res.json(auth.scopes))
  const account = await make({ scopes: ['tasks:read', 'tasks:write'] })
  const { access_token: token } = await answerOf(ask(account, {}, ruled))
  expect((await who(token, '/api/who', ruled)).body).toEqual(['tasks:read', 'tasks:write'])
  const scopes = ['tasks:read', 'tasks:write']
  const about = { subject: undefined, organization: 'acme', scopes }
  expect(asked).toEqual([expect.objectContaining(about), expect.objectContaining(about)])
  answer = { outcome: 'capped', scopes: ['tasks:read'] }
  expect((await who(token, '/api/who', ruled)).body).toEqual(['tasks:read'])
  expect((await answerOf(ask(account, {}, ruled))).scope).toBe('tasks:read')
  answer = { outcome: 'denied' }
  expectError(await who(token, '/api/who', ruled), 401, 'invalid_token')
  expectError(await ask(account, {}, ruled), 400, 'access_denied')
})
