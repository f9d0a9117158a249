// Administrators of an organization decide which apps its members may use.
import supertest from 'supertest'
import { type Answer, fieldsOf, pageOf, type RawBrowser, textOf } from '../support/raw-browser.ts'
import { expectError, guarded, introspect, redeem, refresh } from '../support/tokens.ts'
import {
  at,
  belongs,
  bobs,
  events,
  globex,
  host,
  nordlys,
  second,
  signedIn,
  tokensOf,
  visit,
  withOrganizationApps,
} from './organization-apps-host.ts'

withOrganizationApps()

let admin: RawBrowser
let member: RawBrowser
beforeAll(async () => {
  belongs.set('1', [{ ...nordlys, role: 'admin' }])
  belongs.set('2', [nordlys])
  admin = await signedIn()
  member = await bobs()
})

const policy = async (apps: string, unverified = 'same'): Promise<Answer> =>
  admin.submit(await admin.open(at('policy')), 'name="apps"', { apps, unverified })
const journal = { app: 'client:journal' }
const decide = async (fields: Record<string, string>): Promise<Answer> =>
  admin.submit(await admin.open(at('app', nordlys.id, journal)), 'name="outcome"', fields)
const write = (token: string) =>
  supertest(host.app).post('/api/notes').set('Authorization', `Bearer ${token}`)
const codeIn = ({ location }: Answer): string | null | undefined => location?.searchParams.get('code')
/** What a member asks for who must ask. */
const request = async (reason = ''): Promise<Answer> =>
  member.submit(await visit(member), 'value="request"', { decision: 'request', reason })
/** The page of the only request that waits. */
const openRequest = async (): Promise<Answer> => {
  const list = await admin.open(at('requests'))
  const [, url = ''] = /href="([^"]*\/organization\/request\?[^"]*)"/.exec(list.html) ?? []
  return admin.open(url.replaceAll('&amp;', '&'))
}
const answerWith = async (decision: string): Promise<Answer> =>
  admin.submit(await openRequest(), 'value="everybody"', { decision })

describe('from allow to ask, and from a request to its approval', () => {
  test('without a policy a member connects an app, and the page of administrators shows it', async () => {
    await tokensOf(member)
    const page = await admin.open(at('apps'))
    expect(pageOf(page)).toBe('200 /apps')
    expect(textOf(page)).toMatch(/Apps in use: 1\..*Journal client.example.com Allowed Members: 1/)
  })

  test('an app that is new when members must ask shows Request access; after approval the member signs in', async () => {
    expect(textOf(await policy('ask'))).toContain('The rule is saved.')
    const asked = await visit(member)
    expect(pageOf(asked)).toBe('200 /ask')
    expect(textOf(asked)).toContain('An administrator of Nordlys AS must allow this app first.')
    const sent = await request('For <b>the report</b>')
    expect(textOf(sent)).toContain('Request sent')
    expect(sent.html).not.toContain('value="request"')
    const back = await member.submit(sent, 'value="back"', { decision: 'back' })
    expect(back.location?.searchParams.get('error')).toBe('access_denied')
    const page = await openRequest()
    expect(textOf(page)).toContain('bob@example.com asks for Journal')
    expect(page.html).toContain('For &lt;b&gt;the report&lt;/b&gt;')
    expect(textOf(page)).toContain('Write notes for you')
    expect(textOf(await answerWith('everybody'))).toContain('Everybody may use it now.')
    const { access_token } = await tokensOf(member)
    expect((await write(access_token)).status).toBe(200)
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        'organization.policy_changed',
        'organization.access_requested',
        'organization.app_decided',
        'organization.access_answered',
      ]),
    )
  })

  test('approval for one person covers this person, and nobody else', async () => {
    await policy('ask')
    await request()
    expect(textOf(await answerWith('person'))).toContain('This person may use it now.')
    const { access_token } = await tokensOf(member)
    expect((await guarded(host, access_token)).status).toBe(200)
    expect(pageOf(await visit(admin))).toBe('200 /ask')
  })

  test('a refused member reads that, and cannot ask again', async () => {
    await policy('ask')
    await request()
    await answerWith('refused')
    const page = await visit(member)
    expect(textOf(page)).toContain('Your request was refused')
    expect(page.html).not.toContain('value="request"')
  })

  test('what members use when the policy begins stays allowed, also for those who come later', async () => {
    const { access_token } = await tokensOf(member)
    await policy('blocked')
    expect((await guarded(host, access_token)).status).toBe(200)
    expect(pageOf(await visit(admin))).toBe('200 /consent')
    expect(pageOf(await visit(member, 'web'))).toBe('403 /ask')
  })

  test('the host’s own clients are not apps', async () => {
    await policy('blocked')
    expect(codeIn(await visit(member, 'ours'))).toBeTruthy()
  })
})

describe('a decision about an app', () => {
  test('Blocked: the member reads the words of the administrator, and every token stops at the next call', async () => {
    const { access_token, refresh_token } = await tokensOf(member)
    const saved = await decide({ outcome: 'blocked', words: 'Use <i>Notes</i> instead.' })
    expect(textOf(saved)).toContain('Saved.')
    expectError(await guarded(host, access_token), 401, 'invalid_token')
    const refused = await refresh(host, refresh_token, { client_id: 'journal' })
    expect([refused.status, refused.body.error]).toEqual([400, 'access_denied'])
    const introspected = await introspect(host, access_token, { client_id: 'journal' })
    expect(introspected.body).toEqual({ active: false })
    const page = await visit(member)
    expect(pageOf(page)).toBe('403 /ask')
    expect(textOf(page)).toContain('Nordlys AS has blocked Journal')
    expect(page.html).toContain('Use &lt;i&gt;Notes&lt;/i&gt; instead.')
    await decide({ outcome: 'allowed', words: '' })
    expect((await guarded(host, access_token)).status).toBe(200)
  })

  test('Ask also holds for members who use the app now', async () => {
    const { access_token } = await tokensOf(member)
    await decide({ outcome: 'ask' })
    expectError(await guarded(host, access_token), 401, 'invalid_token')
    expect(pageOf(await visit(member))).toBe('200 /ask')
  })

  test('Read only: the next call that writes is 403 with words, and a new consent does not offer it', async () => {
    const { access_token } = await tokensOf(member)
    await decide({ outcome: 'allowed', most: 'read' })
    expect((await guarded(host, access_token)).status).toBe(200)
    const refused = await write(access_token)
    expectError(refused, 403, 'insufficient_scope')
    expect(refused.body.error_description).toContain('notes:write')
    const page = await visit(admin)
    expect(textOf(page)).toMatch(/Not included Write notes for you/)
    const answer = await admin.decide(page, 'allow')
    const { body } = await redeem(host, codeIn(answer) ?? '', { client_id: 'journal' })
    expect(body.scope).toBe('openid offline_access notes:read')
  })

  test('these permissions: only those that are ticked', async () => {
    const { access_token } = await tokensOf(member)
    const page = await admin.open(at('app', nordlys.id, journal))
    const { 'scope:notes:read': _, ...fields } = fieldsOf(page, 'name="outcome"')
    await admin.post('/oauth/organization/app', {
      ...fields,
      outcome: 'allowed',
      most: 'these',
      'scope:notes:write': 'on',
    })
    expectError(await guarded(host, access_token), 403, 'insufficient_scope')
    expect((await write(access_token)).status).toBe(200)
  })

  test('Remove ends one member’s access, and Remove for everybody all of it', async () => {
    const ofBob = await tokensOf(member)
    const ofAda = await tokensOf(admin)
    const page = await admin.open(at('app', nordlys.id, journal))
    await admin.submit(page, 'Remove: bob@example.com')
    expectError(await guarded(host, ofBob.access_token), 401, 'invalid_token')
    expect((await guarded(host, ofAda.access_token)).status).toBe(200)
    const again = await tokensOf(member)
    const confirm = await admin.open(at('app/remove', nordlys.id, journal))
    expect(textOf(confirm)).toContain('Members who lose access: 2.')
    await admin.submit(confirm, 'name="block"', { block: 'on' })
    for (const { access_token } of [again, ofAda])
      expectError(await guarded(host, access_token), 401, 'invalid_token')
    expect(pageOf(await visit(member))).toBe('403 /ask')
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'organization.app_removed', organization: 'nordlys', users: 2 }),
    )
  })
})

describe('who may open the pages', () => {
  const pages = ['apps', 'policy', 'app', 'app/remove', 'requests', 'request', 'activity', 'activity.csv']

  test.each(pages)('%s: a member, a stranger and an unknown organization get one page', async (page) => {
    const shown = new Set<string>()
    belongs.set('1', [{ ...nordlys, role: 'admin' }])
    for (const [agent, organization] of [
      [member, nordlys.id],
      [member, globex.id],
      [admin, globex.id],
      [admin, 'nobody'],
    ] as const) {
      const answer = await agent.open(at(page, organization, { ...journal, id: 'x' }))
      expect(answer.status).toBe(403)
      shown.add(/<h1>([^<]*)/.exec(answer.html)?.[1] ?? '')
    }
    expect([...shown]).toEqual(['You can’t open this page'])
  })

  test('a role that ends between the page and the form changes nothing', async () => {
    const page = await admin.open(at('policy'))
    belongs.set('1', [nordlys])
    const answer = await admin.submit(page, 'name="apps"', { apps: 'blocked', unverified: 'same' })
    expect(answer.status).toBe(403)
    expect(await host.table('organization_app_rules')).toEqual([])
  })

  test('a form for one organization cannot be sent for another', async () => {
    const page = await admin.open(at('policy'))
    const answer = await admin.submit(page, 'name="apps"', {
      organization: globex.id,
      apps: 'blocked',
      unverified: 'same',
    })
    expect(answer.status).toBe(403)
    expect(await host.table('organization_app_rules')).toEqual([])
  })

  test('a request and an app of another organization are not found', async () => {
    await policy('ask')
    await request()
    const [{ id }] = await host.table('organization_app_requests')
    for (const [page, more] of [
      ['request', { id }],
      ['app', { app: 'client:journal' }],
      ['app/remove', { app: 'client:journal' }],
    ] as const)
      expect((await admin.open(at(page, globex.id, more))).status).toBe(404)
    const form = await openRequest()
    const answer = await admin.submit(form, 'value="everybody"', {
      organization: globex.id,
      decision: 'everybody',
    })
    expect(answer.status).toBe(403)
    expect((await host.table('organization_app_requests')).map(({ status }) => status)).toEqual(['waiting'])
  })

  test('the pages of the account link to those of administrators, for administrators only', async () => {
    expect((await admin.open('/oauth/account')).html).toContain('/oauth/account/organizations')
    expect((await member.open('/oauth/account')).html).not.toContain('/oauth/account/organizations')
    const list = await admin.open('/oauth/account/organizations')
    expect(textOf(list)).toMatch(/Nordlys AS .*Globex/)
    belongs.set('1', [{ ...nordlys, role: 'admin' }])
    expect(pageOf(await admin.open('/oauth/account/organizations'))).toBe('200 /apps')
  })
})

describe('what could be abused', () => {
  test('a request for an app that has changed since the page was shown is not approved', async () => {
    await policy('ask')
    await request()
    const page = await openRequest()
    await host.oauth.clients.update('journal', { redirect_uris: ['https://other.example.com/callback'] })
    try {
      const answer = await admin.submit(page, 'value="everybody"', { decision: 'everybody' })
      expect(textOf(answer)).toContain('Nothing happened')
      expect((await host.table('organization_app_requests')).map(({ status }) => status)).toEqual(['waiting'])
      expect((await host.oauth.organizationApps!.list('nordlys')).map(({ outcome }) => outcome)).toEqual([])
    } finally {
      await host.oauth.clients.update('journal', { redirect_uris: ['https://client.example.com/callback'] })
    }
  })

  test('a request for an app that a member sends from many tabs is stored once', async () => {
    await policy('ask')
    const page = await visit(member)
    const tabs = Array.from({ length: 8 }, () =>
      member.submit(page, 'value="request"', { decision: 'request' }),
    )
    expect((await Promise.all(tabs)).map(({ status }) => status)).toEqual(tabs.map(() => 200))
    expect(await host.table('organization_app_requests')).toHaveLength(1)
  })

  test('cells that a spreadsheet would run begin with a quote', async () => {
    await policy('ask')
    await host.oauth.clients.update('journal', { client_name: '=HYPERLINK("https://evil.example")' })
    try {
      await request()
      const csv = await admin.open(at('activity.csv'))
      expect(csv.headers['content-type']).toContain('text/csv')
      expect(csv.html).toContain(`"'=HYPERLINK(""https://evil.example"")"`)
      expect(csv.html).toMatch(/^"time","event","user","app"\r\n/)
    } finally {
      await host.oauth.clients.update('journal', { client_name: 'Journal' })
    }
  })
})

test('an app is removed for 41 members, and every token stops at the next call of another server', async () => {
  const other = await second()
  const consents: object[] = []
  const authorizations: object[] = []
  const tokens = await tokensOf(member)
  const [consent] = await host.table('consents')
  const [authorization] = await host.table('authorizations')
  for (let place = 0; place < 40; place += 1) {
    const subject = `m${place}`
    consents.push({ ...consent, subject })
    authorizations.push({ ...authorization, subject, id: `a${place}`, code_hash: `c${place}` })
  }
  await host.table('consents').insert(consents)
  await host.table('authorizations').insert(authorizations)
  const page = await admin.open(at('app/remove', nordlys.id, journal))
  expect(textOf(page)).toContain('Members who lose access: 41.')
  await admin.submit(page, 'class="danger"')
  expectError(await guarded(other, tokens.access_token), 401, 'invalid_token')
  expect(await host.table('consents')).toEqual([])
  expect(await host.table('authorizations').whereNull('revoked_at')).toEqual([])
  // It is not blocked, so a member may allow it again.
  expect(pageOf(await visit(member))).toBe('200 /consent')
  await other.oauth.close()
})

test('a member has a limited number of requests that wait, and takes none from others', async () => {
  await policy('ask')
  const [{ subject: _, ...row }] = await request().then(() => host.table('organization_app_requests'))
  const others = Array.from({ length: 9 }, (__, slot) => ({
    ...row,
    subject: '2',
    id: `r${slot}`,
    app: `client:${slot}`,
    slot: [...Array(10).keys()].filter((each) => each !== row.slot)[slot],
  }))
  await host.table('organization_app_requests').insert(others)
  const full = await visit(member, 'web')
  expect(textOf(full)).toContain('You have asked for many apps')
  expect(full.html).not.toContain('value="request"')
  expect((await visit(admin, 'web')).html).toContain('value="request"')
})

test('names with other directions and markup stay text on every page', async () => {
  const name = 'Evil\u202egnp.exe <b>x</b>'
  await host
    .table('clients')
    .where({ client_id: 'journal' })
    .update({
      metadata: (await host.table('clients').where({ client_id: 'journal' }))[0].metadata.replace(
        'Journal',
        name.replace('"', ''),
      ),
    })
  try {
    await tokensOf(member)
    for (const page of [await admin.open(at('apps')), await admin.open(at('app', nordlys.id, journal))]) {
      expect(page.status).toBe(200)
      expect(page.html).not.toContain('\u202e')
      expect(page.html).not.toContain('<b>x</b>')
      expect(page.html).toContain('&lt;b&gt;x&lt;/b&gt;')
    }
  } finally {
    await host.oauth.clients.update('journal', { client_name: 'Journal' })
  }
})

test('erasure of a user, a client and an organization leaves no row about it', async () => {
  await policy('ask')
  await request()
  expect(await host.oauth.users.export('2')).toMatchObject({
    appRequests: [{ organization: 'nordlys', clientId: 'journal', status: 'waiting' }],
  })
  expect(await host.oauth.organizations.export('nordlys')).toMatchObject({
    consents: [],
    appRules: [{ app: 'every', outcome: 'ask', decidedBy: '1' }],
    appRequests: [{ subject: '2' }],
  })
  const { access_token } = await tokensOf(member, 'ours')
  await host.oauth.organizations.erase('nordlys')
  for (const name of ['organization_app_rules', 'organization_app_requests', 'organization_events'])
    expect(await host.table(name)).toEqual([])
  expectError(await guarded(host, access_token), 401, 'invalid_token')
})
