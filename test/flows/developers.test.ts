import { developers, secondFactor } from '../../lib/features/index.ts'
import type { HostLogin } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { stopClock } from '../support/clock.ts'
import {
  desk,
  developerOptions,
  events,
  host,
  redirectUri,
  register,
  root,
  says,
  secretOf,
  sent,
  signedIn,
  stateOf,
  tokensOf,
  typesOf,
  withDevelopers,
} from '../support/developers.ts'
import { authorizeUrl, issuer, startHost } from '../support/host.ts'
import { codeOf, expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { ada, bob, redeem } from '../support/tokens.ts'
import { expectForgedFormsRefused } from './forged-forms.ts'

withDevelopers()

let agent: RawBrowser
let bobs: RawBrowser
beforeAll(async () => {
  agent = await signedIn()
  bobs = await signedIn(bob)
})

const at = (page: string, clientId: string): string =>
  `${root}/${page}?${new URLSearchParams({ client_id: clientId })}`
/** Sends the form of a page about a client, with these changes. */
const change = (clientId: string, fields: Record<string, string>, page = 'edit') =>
  sent(agent, `/${page}?client_id=${clientId}`, fields)
const formAt = async (url: string, by = agent) => fieldsOf(await by.open(url), 'name="decision"')
const clientOf = (clientId: string) => host.oauth.clients.get(clientId)

describe('who may register clients', () => {
  test('without the option there are no pages', async () => {
    const plain = await startHost()
    for (const path of ['', '/new', '/client', '/edit', '/rotate', '/delete'])
      expect((await new RawBrowser(plain.app).get(root + path)).status).toBe(404)
    await plain.close()
  })

  test('a user gets 403 at every page unless allow returns true', async () => {
    const { clientId } = await register(agent)
    const fields = await formAt(`${root}/new`)
    const pages = [
      root,
      `${root}/new`,
      ...['client', 'edit', 'rotate', 'delete'].map((page) => at(page, clientId)),
    ]
    for (const no of [false, undefined, 'yes', 1]) {
      says[ada.email] = no
      for (const path of no === false ? pages : [root]) {
        const page = await agent.open(path)
        expect({ no, path, status: page.status }).toEqual({ no, path, status: 403 })
        expect(textOf(page)).toContain('You can’t register apps with this account')
      }
      expect((await agent.post(`${root}/new`, { ...fields, ...desk })).status).toBe(403)
    }
    expect(await host.table('client_owners')).toHaveLength(1)
  })

  test('the account pages link to it only for users who may, and still work when allow fails', async () => {
    const linked = async (agent: RawBrowser, path = '/oauth/account') => {
      const page = await agent.open(path)
      return [page.status, /href="\/oauth\/developer"[^>]*>([^<]*)/.exec(page.html)?.[1]]
    }
    expect(await linked(agent)).toEqual([200, 'Your apps'])
    says[ada.email] = 'approval'
    expect(await linked(agent, '/oauth/account/devices')).toEqual([200, 'Your apps'])
    expect((await agent.open(root)).html).toContain('href="/oauth/developer" aria-current="page"')
    says[ada.email] = false
    expect(await linked(agent)).toEqual([200, undefined])
    const fails = () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
    const broken = await startHost({ options: { features: [developers({ allow: fails })] } })
    const other = new RawBrowser(broken.app)
    await other.signIn(await other.open('/oauth/account'))
    expect(await linked(other)).toEqual([200, undefined])
    await broken.close()
  })

  test('a user who is erased while the host decides registers and changes no client', async () => {
    const { clientId } = await register(agent)
    const during = async (act: () => Promise<unknown>, path: string): Promise<Answer> => {
      const page = await agent.open(path)
      const whileAsked = { configurable: true, get: () => act().then(() => true) }
      Object.defineProperty(says, ada.email, whileAsked)
      const answer = await agent.post(page.url.pathname, {
        ...fieldsOf(page, 'name="decision"'),
        ...desk,
        client_name: 'Late Desk',
      })
      delete says[ada.email]
      says[ada.email] = true
      return agent.follow(answer)
    }
    const ended = await during(() => host.oauth.users.revokeAll(1), at('edit', clientId))
    expect(ended.html).toContain('type="password"')
    expect(await clientOf(clientId)).toMatchObject({ client_name: desk.client_name })
    agent = await signedIn()
    await during(() => host.oauth.users.erase(1), `${root}/new`)
    agent = await signedIn()
    expect(await host.table('client_owners').where({ subject: '1' })).toEqual([])
    expect(await host.oauth.clients.list({ search: 'Late Desk' })).toEqual([])
  })

  test('allow gets the user and the request; if it fails, the user sees an error page', async () => {
    const asked: unknown[] = []
    const allow = (user: { id: unknown }, { req }: { req: { path: string } }) => {
      asked.push([user.id, req.path])
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    }
    const broken = await startHost({ options: { features: [developers({ allow: allow as never })] } })
    const browser = new RawBrowser(broken.app)
    const page = await browser.signIn(await browser.open(root))
    expectErrorPage(page, 503)
    expect(asked).toEqual([[1, '/developer']])
    await broken.close()
  })

  test('a user whose sign-in is too old confirms the password and returns to the same page', async () => {
    const clock = stopClock()
    const own = await signedIn()
    const { clientId } = await register(own)
    /** The browser is used, so that only the sign-in is old. */
    const becomeOld = async () => {
      for (const seconds of [1500, 1500, 601]) {
        clock.travel(seconds)
        expect(await stateOf(own, clientId)).toBe('Active')
      }
    }
    await becomeOld()
    for (const path of [
      `${root}/new`,
      at('edit', clientId),
      at('rotate', clientId),
      at('delete', clientId),
    ]) {
      const title = textOf(await own.open(path))
      expect({ path, title }).toEqual({ path, title: expect.stringContaining('Confirm it’s you') })
    }
    const login = await own.open(at('rotate', clientId))
    const back = await own.submit(login, 'name="password"', { password: ada.password })
    expect(textOf(back)).toContain('Create a new secret for Order Desk?')
    const form = fieldsOf(back, 'name="decision"')
    await becomeOld()
    const late = await own.follow(await own.post(at('rotate', clientId), form))
    expect(textOf(late)).toContain('Confirm it’s you')
    expect(typesOf()).toEqual(['client.created'])
  })
})

describe('the sign-in of these pages', () => {
  const edit = at('edit', 'web')

  test('asks for the second factor and returns to the page', async () => {
    const find = () => ({ kind: 'code' as const, verify: (code: string) => code === '123456' })
    const strict = await startHost({
      options: { features: [developers(developerOptions), secondFactor({ find })] },
    })
    await strict.oauth.developers!.transfer('web', 1)
    const browser = new RawBrowser(strict.app)
    const code = await browser.signIn(await browser.open(edit))
    expect(code.url.pathname).toBe('/oauth/second-factor')
    expect(textOf(await browser.open(edit))).toContain('Password')
    const page = await browser.submit(code, 'name="code"', { code: '123456' })
    expect([page.url.pathname + page.url.search, page.status]).toEqual([edit, 200])
    await strict.close()
  })

  test('happens on the login page of the host, with prompt=login if the user must sign in again', async () => {
    let current: HostLogin | undefined
    const login = { url: '/login', current: () => current }
    const own = await startHost({ options: { features: [developers(developerOptions)], login } })
    await own.oauth.developers!.transfer('web', 1)
    const browser = new RawBrowser(own.app)
    const returnTo = `${edit}&returned=1`
    const asked = async () => Object.fromEntries((await browser.get(edit)).location?.searchParams ?? [])
    expect(await asked()).toEqual({ return_to: returnTo })
    const now = Math.floor(Date.now() / 1000)
    // The time of the first visit says nothing about the sign-in.
    for (current of [{ subject: '1' }, { subject: '1', authTime: now - 3700 }])
      expect(await asked()).toEqual({ return_to: returnTo, prompt: 'login' })
    expect(textOf(await browser.open(returnTo))).toContain('You’re not signed in')
    expect((await browser.open(at('client', 'web'))).status).toBe(200)
    // Half an hour is still recent, because the forms are long.
    current = { subject: '1', authTime: now - 1800 }
    expect((await browser.get(edit)).status).toBe(200)
    await own.close()
  })
})

describe('the first minute of a client (pages 25)', () => {
  const pageOf = (clientId: string) => agent.open(at('client', clientId))
  const stepsOf = ({ html }: Answer): boolean[] =>
    [...html.matchAll(/<li class="scope-row"( data-open)?>/g)].map(([, open]) => open === undefined)

  test('shows what the app needs, and how far it has come, step by step', async () => {
    const storing = await startHost({
      database: host.database,
      clients: [],
      options: { storedEvents: true, features: [developers(developerOptions)] },
    })
    try {
      const { clientId, secret = '' } = await register(agent)
      const seen = new RawBrowser(storing.app)
      const stored = async (): Promise<Answer> => {
        await serverBehind(storing.oauth)!.eventLog?.settled()
        return seen.open(at('client', clientId))
      }
      await seen.signIn(await seen.open(root), ada.email, ada.password)
      const first = await stored()
      for (const value of [issuer, `${issuer}/.well-known/openid-configuration`, clientId])
        expect(first.html).toContain(`dir="ltr">${value}</code>`)
      expect(stepsOf(first)).toEqual([true, false, false, false])

      const wrong = authorizeUrl({ client_id: clientId, scope: 'openid', redirect_uri: `${redirectUri}/` })
      expect((await new RawBrowser(storing.app).get(wrong)).status).toBe(400)
      const refused = await stored()
      expect(stepsOf(refused)).toEqual([true, true, false, false])
      expect(refused.html).toContain(`<code>${redirectUri}<mark>/</mark></code>`)

      const right = authorizeUrl({ client_id: clientId, scope: 'openid', redirect_uri: redirectUri })
      const code = codeOf(await new RawBrowser(storing.app).grant(right), { redirectUri })
      expect(stepsOf(await stored())).toEqual([true, true, true, false])
      const fields = { client_id: clientId, client_secret: secret, redirect_uri: redirectUri }
      expect((await redeem(storing, code, fields)).status).toBe(200)
      const done = await stored()
      expect(stepsOf(done)).toEqual([true, true, true, true])
      expect(done.html).not.toContain('id="refused"')
      expect(textOf(done)).toContain('People using it 1')
    } finally {
      await storing.oauth.close()
    }
  })

  test('without stored events there is no list of steps', async () => {
    const { clientId } = await register(agent)
    expect(stepsOf(await pageOf(clientId))).toEqual([])
  })
})

describe('a client of a developer', () => {
  test('works with the secret that is shown once, is marked unverified, and its acts are announced', async () => {
    const { page, clientId, secret } = await register(agent)
    expect(textOf(page)).toContain('Your app is registered.')
    expect(secret).toMatch(/^lk_cs_[\w-]{43}$/)
    expect(page.url.search + page.html.replace(`>${secret}<`, '')).not.toContain('lk_cs_')
    expect(page.headers['cache-control']).toBe('no-store')
    const again = await agent.open(page.url.href)
    expect(again.html).not.toMatch(/lk_cs_|id="secret"|Your app is registered/)
    expect(agent.cookies.values().join()).not.toContain('lk_cs_')

    const request = authorizeUrl({ client_id: clientId, scope: 'openid', redirect_uri: redirectUri })
    expect((await agent.open(request)).html).toContain('Unverified app')
    expect((await tokensOf(clientId, secret)).status).toBe(200)
    expect((await tokensOf(clientId, 'x'.repeat(40))).status).toBe(401)
    const created = events.find(({ type }) => type === 'client.created')
    expect(created).toMatchObject({ clientId, subject: '1', address: '127.0.0.1' })
    expect(JSON.stringify(events)).not.toContain('lk_cs_')
    const { client_id_issued_at: _, ...metadata } = (await clientOf(clientId)) ?? {}
    expect(metadata).toEqual({
      client_id: clientId,
      disabled: false,
      client_name: 'Order Desk',
      redirect_uris: [redirectUri],
      scope: 'openid notes:read',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: 'RS256',
      subject_type: 'public',
      first_party: false,
      require_pkce: false,
      id_token_scope_claims: true,
      refresh_token_rotation: true,
      self_described: 'user',
    })
  })

  test('that is public has no secret and cannot get one', async () => {
    const { page, clientId, secret } = await register(agent, { token_endpoint_auth_method: 'none' })
    expect(secret).toBeUndefined()
    expect(page.html).not.toContain('/developer/rotate')
    const rotated = await change(clientId, {}, 'rotate')
    expect(rotated.status).toBe(400)
    expect(typesOf()).toEqual(['client.created'])
  })

  test.each([
    [{ client_name: 'Pаypal' }, 'client_name must not mix alphabets within a word'],
    [{ client_name: 'Order\u202eksed' }, 'client_name must not contain control or direction characters'],
    [{ redirect_uris: 'http://desk.example.com/cb' }, 'Use https://. http:// works for localhost only.'],
    [
      { redirect_uris: `${redirectUri}\nhttps://forbidden.example/cb` },
      'Latchkey does not accept this address.',
    ],
    [{ 'scopes:openid': '', 'scopes:notes:read': '' }, 'Choose at least one permission.'],
    [{ client_uri: 'javascript:alert(1)' }, 'Use https://. http:// works for localhost only.'],
  ])('%p is refused beside its field, and what was typed stays', async (fields, error) => {
    const page = await sent(agent, '/new', { ...desk, client_uri: 'https://desk.example.com/', ...fields })
    expect(page.status).toBe(400)
    expect(textOf(page)).toContain(error)
    expect(page.html).toContain('aria-invalid="true"')
    const kept = fieldsOf(page, 'name="decision"')
    const typed = { client_name: desk.client_name, redirect_uris: redirectUri, ...fields }
    for (const name of ['client_name', 'redirect_uris'] as const)
      expect(kept[name]).toBe(typed[name].replace('\u202e', ''))
    expect(await host.table('client_owners')).toEqual([])
  })

  test('every mistake of a form is told at once, with its line, also of a change', async () => {
    const lines = ['http://desk.example.com/', '', redirectUri, ' nope ', 'https://*.example.com/cb']
    const wrong = { client_name: '', redirect_uris: lines.join('\n'), logo_uri: 'javascript:alert(1)' }
    const { clientId } = await register(agent)
    for (const path of ['/new', `/edit?client_id=${clientId}`]) {
      const page = await sent(agent, path, wrong)
      expect(page.status).toBe(400)
      const errors = [...page.html.matchAll(/<p class="field-error">(.*?)<\/p>/g)].map(([, said = '']) =>
        said.replaceAll(/<[^>]+>/g, ''),
      )
      expect(errors).toEqual([
        'Enter a name.',
        'Line 1: Use https://. http:// works for localhost only.',
        'Line 4: Enter a whole address, such as https://example.com/callback.',
        'Line 5: Write each address in full. “*” is not allowed.',
        'Use https://. http:// works for localhost only.',
      ])
      const links = [...page.html.matchAll(/<a href="#(field-\w+)">/g)].map(([, id]) => id)
      expect(links).toEqual(['field-client_name', 'field-redirect_uris', 'field-logo_uri'])
    }
  })

  test.each<[string, () => unknown]>([
    ['returns a promise', async () => true],
    ['returns a word', () => 'no'],
    [
      'throws an error with a status',
      () => {
        throw Object.assign(new Error('none'), { status: 404 })
      },
    ],
  ])('no redirect URI is accepted if the function of the host %s', async (_case, redirectUris) => {
    const { clientId } = await register(agent)
    says.redirectUris = redirectUris
    const other = { redirect_uris: 'https://other.example.com/cb' }
    for (const path of ['/new', `/edit?client_id=${clientId}`])
      expectErrorPage(await sent(agent, path, { ...desk, ...other }), 500)
    expect(await host.table('client_owners')).toMatchObject([{ client_id: clientId, revision: 1 }])
  })

  test('gets nothing that the form does not offer', async () => {
    const more = {
      'scopes:notes:write': 'on',
      scope: 'notes:write',
      first_party: 'on',
      'first_party:true': 'on',
      'grant_types:client_credentials': 'on',
      grant_types: 'implicit',
      other: '{"first_party":true}',
      client_id: 'mine',
      client_secret: 'x'.repeat(40),
      may_introspect: 'on',
      subject: '2',
    }
    const { clientId } = await register(agent, more)
    const client = await clientOf(clientId)
    expect(client).toMatchObject({ scope: 'openid notes:read', first_party: false })
    expect(client).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'] })
    expect(client).not.toHaveProperty('may_introspect')
    expect(await host.oauth.developers!.ownerOf(clientId)).toBe('1')
  })

  test('keeps the scopes and lifetimes of the host when its owner changes it, but not first_party', async () => {
    const { clientId } = await register(agent)
    const more = { scope: 'openid notes:read notes:write', access_token_lifetime: 60, first_party: true }
    await host.oauth.clients.update(clientId, more)
    expect(await clientOf(clientId)).not.toHaveProperty('self_described')
    const page = await change(clientId, { client_name: 'Desk 2', 'scopes:openid': '' })
    expect(textOf(page)).toContain('Your changes are saved.')
    expect(await clientOf(clientId)).toMatchObject({
      client_name: 'Desk 2',
      scope: 'notes:read notes:write',
      access_token_lifetime: 60,
      first_party: false,
      self_described: 'user',
    })
    expect(typesOf()).toEqual(['client.created', 'client.updated', 'client.updated'])
  })

  test('is not overwritten by a form that was opened before the last change', async () => {
    const { clientId } = await register(agent)
    const url = at('edit', clientId)
    const early = await formAt(url)
    await change(clientId, { client_name: 'Second' })
    const late = await agent.post(url, { ...early, client_name: 'Third' })
    expect(late.status).toBe(409)
    expect(textOf(late)).toContain('This app has changed since you opened this form.')
    expect(fieldsOf(late, 'name="decision"')).toMatchObject({ client_name: 'Third' })
    expect(await clientOf(clientId)).toMatchObject({ client_name: 'Second' })
    await agent.submit(late, 'name="decision"')
    expect(await clientOf(clientId)).toMatchObject({ client_name: 'Third' })
  })

  test('gets a new secret, beside the previous one or in its place', async () => {
    const { clientId, secret } = await register(agent)
    const second = secretOf(await change(clientId, {}, 'rotate'))
    for (const valid of [secret, second]) expect((await tokensOf(clientId, valid)).status).toBe(200)
    const third = secretOf(await change(clientId, { now: 'on' }, 'rotate'))
    expect((await tokensOf(clientId, third)).status).toBe(200)
    for (const old of [secret, second]) expect((await tokensOf(clientId, old)).status).toBe(401)
    expect(events.filter(({ type }) => type === 'client.secret_rotated')).toMatchObject(
      [1, 2].map(() => ({ clientId, subject: '1' })),
    )
  })

  test('gets a new secret that expires when the host said, and none after that (L14)', async () => {
    const clock = stopClock()
    const { clientId, secret } = await register(agent)
    const expires = clock.now() + 1000
    await host.oauth.clients.update(clientId, { client_secret_expires_at: expires })
    const next = secretOf(await change(clientId, {}, 'rotate'))
    expect(next).not.toBe(secret)
    expect(await clientOf(clientId)).toMatchObject({ client_secret_expires_at: expires })
    expect((await tokensOf(clientId, next)).status).toBe(200)
    const form = await formAt(at('rotate', clientId))
    clock.travel(1000)
    expect((await tokensOf(clientId, next)).status).toBe(401)
    expect((await agent.open(at('client', clientId))).html).not.toContain('/developer/rotate')
    expect((await agent.post(at('rotate', clientId), form)).status).toBe(400)
    expect(await clientOf(clientId)).toMatchObject({ client_secret_expires_at: expires })
    // What the host does is its own decision.
    const renewed = await host.oauth.clients.rotateSecret(clientId, { keepPreviousFor: 0 })
    expect((await tokensOf(clientId, renewed.client_secret)).status).toBe(200)
  })

  test('is deleted at once, and with it the row of its owner', async () => {
    const { clientId, secret } = await register(agent)
    const list = await change(clientId, {}, 'delete')
    expect(textOf(list)).toContain('The app is deleted.')
    expect(textOf(list)).toContain('You have no apps yet.')
    expect(textOf(await agent.open(root))).not.toContain('The app is deleted.')
    expect(await clientOf(clientId)).toBeUndefined()
    expect(await host.table('client_owners')).toEqual([])
    expect((await tokensOf(clientId, secret)).status).toBe(400)
    expect(events.find(({ type }) => type === 'client.deleted')).toMatchObject({ clientId, subject: '1' })
  })

  test('that the host disabled stays disabled, and its owner sees why it does not work', async () => {
    const { clientId } = await register(agent)
    await host.oauth.clients.disable(clientId)
    await change(clientId, { client_name: 'Desk 2' })
    expect(await stateOf(agent, clientId)).toBe('Disabled by ')
    expect(await clientOf(clientId)).toMatchObject({ disabled: true, client_name: 'Desk 2' })
  })
})

describe('clients of others', () => {
  const acts = {
    client: undefined,
    edit: { ...desk, client_name: 'Taken', revision: '1' },
    rotate: {},
    delete: {},
  }

  test('each page answers as for a client that does not exist', async () => {
    const his = await register(bobs)
    const own = await register(agent)
    const before = await clientOf(his.clientId)
    events.length = 0
    for (const [page, fields] of Object.entries(acts)) {
      // The form for Ada's own client, and Bob's form for his client.
      const forms =
        fields === undefined
          ? []
          : [await formAt(at(page, own.clientId)), await formAt(at(page, his.clientId), bobs)]
      for (const clientId of [his.clientId, 'web', 'unknown-client', '', `${own.clientId} `]) {
        expectErrorPage(await agent.open(at(page, clientId)), 404)
        for (const form of forms)
          expectErrorPage(
            await agent.post(`${root}/${page}`, { ...form, ...fields, client_id: clientId }),
            403,
          )
      }
    }
    expect(await clientOf(his.clientId)).toEqual(before)
    expect(await tokensOf(his.clientId, his.secret)).toMatchObject({ status: 200 })
    expect(typesOf()).toEqual([])
    expect((await agent.open(root)).html).not.toContain(his.clientId)
  })

  test('a form that was opened before the client went to another user does nothing', async () => {
    const { clientId } = await register(agent)
    const urls = ['edit', 'rotate', 'delete'].map((page) => at(page, clientId))
    const forms = await Promise.all(urls.map(async (url) => ({ url, fields: await formAt(url) })))
    await host.oauth.developers!.transfer(clientId, 2)
    const before = await clientOf(clientId)
    for (const { url, fields } of forms) expectErrorPage(await agent.post(url, fields), 404)
    expect(await clientOf(clientId)).toEqual(before)
  })

  test('the form of one user registers nothing for the next one who signs in', async () => {
    const shared = await signedIn()
    const page = await shared.open(`${root}/new`)
    const choice = await shared.open(authorizeUrl({ client_id: 'web', prompt: 'select_account' }))
    const login = await shared.submit(choice, 'value="another"', { decision: 'another' })
    await shared.signIn(login, bob.email, bob.password)
    expectErrorPage(await shared.submit(page, 'name="decision"', desk), 403)
    expect(await host.table('client_owners')).toEqual([])
  })

  test('a forged form changes nothing, and a link neither', async () => {
    const { clientId } = await register(agent)
    events.length = 0
    const url = at('rotate', clientId)
    await expectForgedFormsRefused(agent, url, () => formAt(url), {
      'another page': () => formAt(at('edit', clientId)),
      'the sign-out': async () => fieldsOf(await agent.open('/oauth/logout'), 'csrf_token'),
    })
    for (const page of ['edit', 'rotate', 'delete']) {
      const { csrf_token, ...fields } = await formAt(at(page, clientId))
      expectErrorPage(await agent.post(at(page, clientId), fields), 403)
      await agent.open(
        `${at(page, clientId)}&${new URLSearchParams({ ...fields, csrf_token: csrf_token ?? '' })}`,
      )
    }
    expect(typesOf()).toEqual([])
  })
})

describe('the quota', () => {
  test('counts each user separately, and does not count deleted clients', async () => {
    const all = [await register(agent), await register(agent), await register(agent)]
    expect((await register(agent)).clientId).toBe('')
    const list = await agent.open(root)
    expect(textOf(list)).toContain('You have reached the limit of 3 apps.')
    expect(list.html).not.toContain('/developer/new')
    expect((await register(bobs)).clientId).not.toBe('')
    await change(all[1]?.clientId ?? '', {}, 'delete')
    expect((await register(agent)).clientId).not.toBe('')
    expect((await register(agent)).clientId).toBe('')
    expect(await host.table('client_owners')).toHaveLength(4)
  })

  test('a user who registers and deletes again and again is stopped', async () => {
    const limits = { developerClient: { max: 2, seconds: 60 } }
    const limited = await startHost({
      options: { features: [developers({ ...developerOptions, limits })] },
    })
    const browser = await signedIn(ada, limited)
    for (const _ of [1, 2]) {
      const { clientId } = await register(browser)
      await sent(browser, `/delete?client_id=${clientId}`, {})
    }
    const refused = await sent(browser, '/new', desk)
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d\d$/)])
    await limited.close()
  })
})

test('a list of 1,000 clients has pages of 20, each with the same few statements', async () => {
  const many = await startHost({
    options: { features: [developers({ ...developerOptions, maxClients: 1000 })] },
  })
  const browser = await signedIn(ada, many)
  const { clientId } = await register(browser)
  const prefix = many.database.tablePrefix
  const [client] = await many.database.knex(`${prefix}clients`).where({ client_id: clientId })
  const [owner] = await many.database.knex(`${prefix}client_owners`).where({ client_id: clientId })
  const ids = Array.from({ length: 999 }, (_, number) => `copy-${String(number).padStart(3, '0')}`)
  const created_at = owner.created_at - 1
  const clients = ids.map((client_id) => ({ ...client, client_id }))
  await many.database.knex.batchInsert(`${prefix}clients`, clients, 50)
  const owners = ids.map((client_id, slot) => ({ ...owner, client_id, created_at, slot: slot + 1000 }))
  await many.database.knex.batchInsert(`${prefix}client_owners`, owners, 50)
  const count = await countStatements(many.database.knex, [many.usersTable])
  const counts = new Set<number>()
  const seen: string[] = []
  let page: string | undefined = root
  while (page !== undefined) {
    count.reset()
    const { html }: Answer = await browser.open(page)
    counts.add(count.ours.length)
    seen.push(...[...html.matchAll(/client\?client_id=([\w-]+)/g)].map(([, id = '']) => id))
    page = />Previous page<[\s\S]*href="([^"]+)">Next|href="([^"]+)">Next page/
      .exec(html)
      ?.slice(1)
      .find(Boolean)
  }
  expect(seen).toEqual([clientId, ...ids])
  expect(counts.size).toBe(1)
  await many.close()
})
