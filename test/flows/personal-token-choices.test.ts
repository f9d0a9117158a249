// A user who makes an access token for themselves chooses which projects it is for, as on the consent page.
import { personalAccessTokens } from '../../lib/features/index.ts'
import type { AuthEvent } from '../../lib/index.ts'
import { type Host, secret, startHost } from '../support/host.ts'
import { type Answer, pageOf, RawBrowser, textOf } from '../support/raw-browser.ts'
import { expectError, guarded, introspect } from '../support/tokens.ts'
import { hooks, ofAda, options, projects, these } from './choices.ts'

const formPath = '/oauth/account/tokens/new'
const events: AuthEvent[] = []
/** The organizations of every user. */
let organizations: readonly string[]
let host: Host
let agent: RawBrowser

beforeAll(async () => {
  host = await startHost({
    clients: [
      {
        client_id: 'api',
        client_secret: secret,
        redirect_uris: [],
        grant_types: ['client_credentials'],
        may_introspect: true,
      },
    ],
    options: {
      ...options,
      limits: false,
      organizations: () => organizations.map((id) => ({ id, name: `The ${id}` })),
      features: [personalAccessTokens()],
    },
  })
  const guard = host.oauth.requireToken('tasks:read', { choice: { project: (req) => req.params.id } })
  host.app.get('/api/projects/:id', guard, (req, res) => void res.json({ id: req.params.id }))
  host.app.get('/api/projects', host.oauth.requireToken('tasks:read'), (req, res) => {
    res.json({ projects: req.auth.chosen('project') })
  })
  host.oauth.events.on('*', (event) => void events.push(event))
})
afterAll(() => host.close())
beforeEach(async () => {
  organizations = ['north']
  projects.clear()
  projects.set('1', ofAda)
  projects.set('2', [{ id: 'b1', name: 'Bob’s own' }])
  hooks.before = undefined
  events.length = 0
  await host.table('personal_tokens').delete()
  agent = new RawBrowser(host.app)
  await agent.signIn(await agent.open('/oauth/account'))
})

const many = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `m${n}`, name: `Project ${n}` }))
const typed = { name: 'Backup script', days: '30', 'scope:tasks:read': 'on' }
const send = (page: Answer, decision: string, fields: Record<string, string> = {}): Promise<Answer> =>
  agent.submit(page, 'name="csrf_token"', { decision, ...fields })
const create = async (fields: Record<string, string>, page?: Answer): Promise<Answer> =>
  send(page ?? (await agent.open(formPath)), 'create', { ...typed, ...fields })
const valueIn = (page: Answer): string => / id="secret" dir="ltr">([^<]*)</.exec(page.html)?.[1] ?? ''
const opens = async (token: string, id: string): Promise<number> =>
  (await guarded(host, token, `/api/projects/${id}`)).status
const stored = () => host.table('personal_tokens').select()

test('a token is for the projects that its user chose, and for no other', async () => {
  const list = await create(these('p1', 'p3'))
  const token = valueIn(list)
  expect([await opens(token, 'p1'), await opens(token, 'p3')]).toEqual([200, 200])
  const refused = await guarded(host, token, '/api/projects/p2')
  expectError(refused, 403, 'insufficient_scope')
  expect(refused.headers['www-authenticate']).toContain('choice="project"')
  expect((await guarded(host, token, '/api/projects')).body.projects).toEqual(['p1', 'p3'])
  const { body } = await introspect(host, token, { client_id: 'api' })
  expect(body.authorization_details).toEqual([
    { type: 'project', actions: ['tasks:read'], identifiers: ['p1', 'p3'] },
  ])
  expect(textOf(list)).toContain('projects 2')
  const exported = (await host.oauth.users.export(1)) as { personalTokens?: readonly object[] }
  expect(exported.personalTokens).toMatchObject([{ choices: { project: ['p1', 'p3'] } }])
  const made = events.find(({ type }) => type === 'token.personal.created')
  expect(made).toMatchObject({ choices: { project: ['p1', 'p3'] } })
})

test('a token for all projects opens later ones too', async () => {
  const list = await create({ 'choice:project': 'all' })
  expect(textOf(list)).toContain('projects All')
  projects.set('1', [...ofAda, { id: 'p4', name: 'New' }])
  expect(await opens(valueIn(list), 'p4')).toBe(200)
})

test('nothing is selected at first, and a form without a choice is shown again as it was', async () => {
  const page = await agent.open(formPath)
  expect(page.html).not.toMatch(/name="(choice|thing):[^>]* checked/)
  const again = await create({}, page)
  expect(pageOf(again)).toBe('400 /new')
  expect(again.html).toContain('<a href="#things-project">Choose what the token may use.</a>')
  expect(again.html).toMatch(/name="scope:tasks:read"[^>]* checked/)
  expect(again.html).toContain('value="Backup script"')
  expect(await stored()).toEqual([])
})

test('a token whose scopes are about no projects needs no choice, and has none', async () => {
  const page = await agent.open(formPath)
  const { 'scope:tasks:read': _, ...others } = typed
  const made = await send(page, 'create', { ...others, 'scope:notes:read': 'on', ...these('p1') })
  expect(valueIn(made)).not.toBe('')
  expect(await stored()).toMatchObject([{ choices: null }])
})

test('the id of another user’s project is worth nothing, and the page says so', async () => {
  const again = await create(these('p1', 'b1'))
  expect(pageOf(again)).toBe('400 /new')
  expect(textOf(again)).toContain('Some of what you chose is no longer available to you.')
  expect(await stored()).toEqual([])
  expect(valueIn(await create({}, again))).not.toBe('')
  expect(await stored()).toMatchObject([{ choices: '{"project":["p1"]}' }])
})

describe('among 2,000 projects', () => {
  beforeEach(() => projects.set('1', many(2000)))
  const choose = async (fields: Record<string, string> = {}): Promise<Answer> =>
    send(await agent.open(formPath), 'things:project', { ...typed, ...fields })
  const tick = (...ids: readonly string[]) => Object.fromEntries(ids.map((id) => [`thing:${id}`, 'on']))

  test('they are chosen on a page of their own, and the form comes back as it was', async () => {
    const first = await choose()
    expect(textOf(first)).toContain('Choose projects')
    expect(Buffer.byteLength(first.html)).toBeLessThan(14_000)
    const second = await send(first, 'next', tick('m3'))
    const found = await send(second, 'search', { ...tick('m51'), q: 'project 1999' })
    const form = await send(found, 'use', tick('m1999'))
    expect(textOf(form)).toContain('Project 3 Project 51 Project 1999')
    expect(form.html).toContain('value="Backup script"')
    expect(form.html).toMatch(/name="scope:tasks:read"[^>]* checked/)
    const token = valueIn(await send(form, 'create'))
    expect([await opens(token, 'm51'), await opens(token, 'm1999'), await opens(token, 'm4')]).toEqual([
      200, 200, 403,
    ])
  })

  test('Back keeps nothing of what was ticked there, and the rest of the form', async () => {
    const form = await send(await choose(), 'back', tick('m3'))
    expect(textOf(form)).not.toContain('Project 3')
    expect(form.html).toContain('value="Backup script"')
  })

  test('at most 200 are chosen one by one, and the page says so', async () => {
    let page = await choose()
    for (let turns = 0; turns < 5; turns += 1) {
      const ids = [...page.html.matchAll(/name="thing:(m\d+)"/g)].map(([, id = '']) => id)
      page = await send(page, 'next', tick(...ids))
    }
    expect(textOf(page)).toContain('That’s 200')
    const made = await send(await send(page, 'use'), 'create')
    expect(textOf(made)).toContain('projects 200')
  })

  test('what was lost meanwhile is taken out, and the page says so', async () => {
    const form = await send(await choose(), 'use', tick('m1', 'm2'))
    projects.set('1', many(2000).slice(2))
    const again = await send(form, 'create')
    expect(textOf(again)).toContain('It was removed from your choice.')
    expect(valueIn(await send(again, 'create'))).not.toBe('')
    expect(await stored()).toMatchObject([{ choices: '{"project":["m2"]}' }])
  })

  test.each(['form', 'chosen'])('a changed %s of the hidden fields chooses nothing', async (field) => {
    const page = await choose()
    const form = await send(page, 'use', tick('m1'))
    const [at, decision] = field === 'form' ? [page, 'use'] : [form, 'create']
    const answer = await send(at!, decision!, { [field]: Buffer.from('{"things":{}}').toString('base64url') })
    expect(answer.status).toBe(field === 'form' ? 403 : 400)
    expect(await stored()).toEqual([])
  })

  test('what one user chose is worth nothing in the form of another', async () => {
    const form = await send(await choose(), 'use', tick('m1'))
    const chosen = / name="chosen" value="([^"]*)"/.exec(form.html)?.[1] ?? ''
    projects.set('2', many(2000))
    agent = new RawBrowser(host.app)
    await agent.signIn(await agent.open('/oauth/account'), 'bob@example.com', 'bob’s password')
    const answer = await create({ chosen, 'choice:project': 'these' })
    expect(answer.status).toBe(400)
    expect(await stored()).toEqual([])
  })
})

test('another organization empties the choice, and the page says so', async () => {
  organizations = ['north', 'south']
  const page = await agent.open(formPath)
  const again = await create({ ...these('p1'), organization: 'south' }, page)
  expect(textOf(again)).toContain('You changed the workspace. Choose again what the token may use.')
  expect(again.html).not.toMatch(/name="(choice|thing):[^>]* checked/)
  expect(await stored()).toEqual([])
  expect(valueIn(await create(these('p2'), again))).not.toBe('')
  expect(await stored()).toMatchObject([{ organization: 'south', choices: '{"project":["p2"]}' }])
})

test('without the option choices the form has no field about things', async () => {
  const { choices: _, ...others } = options
  const plain = await startHost({
    database: host.database,
    clients: [],
    options: { ...others, features: [personalAccessTokens()] },
  })
  const visitor = new RawBrowser(plain.app)
  await visitor.signIn(await visitor.open('/oauth/account'))
  const page = await visitor.open(formPath)
  expect(page.html).toContain('name="scope:tasks:read"')
  expect(page.html).not.toMatch(/name="(?:choice:|thing:|chosen|listed)|choices\.css/)
})
