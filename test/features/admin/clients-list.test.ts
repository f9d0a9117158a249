import type { Request } from 'express'
import { admin, developers } from '../../../lib/features/index.ts'
import { developerOptions, register, signedIn } from '../../support/developers.ts'
import { type Host, laterHost, startHost } from '../../support/host.ts'
import { type Answer, RawBrowser, textOf } from '../../support/raw-browser.ts'
import { countStatements } from '../../support/statement-count.ts'
import { ada, bob, tokensFor } from '../../support/tokens.ts'

const administrators = { allow: ({ req }: { req: Request }) => req.get('x-admin') ?? false }
const carolAt = ({ app }: Pick<Host, 'app'>) => new RawBrowser(app, undefined, { 'x-admin': 'carol' })
const list = '/oauth/admin/clients'

/** The names in a list, in its order. */
const namesIn = ({ html }: Answer): string[] =>
  [...html.matchAll(/<li>\s*<span><a href="[^"]*"><bdi>([^<]*)</g)].map(([, name = '']) => name)
/** The filters of a page with their numbers. */
const filtersIn = ({ html }: Answer): Record<string, string> => {
  const [nav = ''] = /<nav class="filters"[\s\S]*?<\/nav>/.exec(html) ?? []
  const links = nav.matchAll(/<a [^>]*>([^<]*?) <span>([^<]*)</g)
  return Object.fromEntries([...links].map(([, name = '', count = '']) => [name, count]))
}
const linkTo = ({ html }: Answer, text: string): string | undefined =>
  new RegExp(`<a href="([^"]+)"[^>]*>${text}`).exec(html)?.[1]?.replaceAll('&amp;', '&')

describe('the list of clients', () => {
  const host = laterHost({ clients: [], options: { features: [admin(administrators)], limits: false } })
  const create = (client_id: string, more: object = {}) =>
    host.oauth.clients.create({
      client_id,
      redirect_uris: [`https://${client_id}.example.com/callback`],
      ...more,
    })
  beforeAll(async () => {
    await host.start()
    await create('zebra', { client_name: 'Álbum' })
    await create('ape', { client_name: 'journal' })
    await create('app5', { client_name: 'Maps', contacts: ['Max@maps.example'] })
    await create('bee', { client_name: 'Desk', first_party: true })
    await create('native', { redirect_uris: ['com.example.native:/cb'] })
  })
  afterAll(host.close)
  const open = (query = '') => carolAt(host).get(`${list}${query}`)

  test('is sorted by name, in any case; one without a name by its id (pages 33)', async () => {
    expect(namesIn(await open())).toEqual(['Desk', 'journal', 'Maps', 'native', 'Álbum'])
    await host.oauth.clients.update('ape', { client_name: 'Zoo' })
    expect(namesIn(await open())).toEqual(['Desk', 'Maps', 'native', 'Zoo', 'Álbum'])
    await host.oauth.clients.update('ape', { client_name: 'journal' })
  })

  test.each([
    ['app5.example.com', ['Maps']],
    ['APP5.Example', ['Maps']],
    ['max@maps', ['Maps']],
    ['com.example.native', ['native']],
    ['zebra', ['Álbum']],
    ['%', []],
    ['callback', []],
  ])('a search for %s finds by id, name, redirect host and contact (pages 33)', async (sought, names) => {
    const page = await open(`?q=${encodeURIComponent(sought)}`)
    expect(namesIn(page)).toEqual(names)
    expect(filtersIn(page).All).toBe(String(names.length))
    if (names.length === 0) expect(textOf(page)).toContain(`No client has “${sought}” in its name, ID,`)
  })

  test('a search says which host or contact it found, and follows a change of them (pages 33)', async () => {
    expect(textOf(await open('?q=max@'))).toContain('Maps Max@maps.example app5')
    await host.oauth.clients.update('app5', { contacts: null, redirect_uris: ['https://new.example/cb'] })
    expect(namesIn(await open('?q=max@'))).toEqual([])
    expect(namesIn(await open('?q=new.example'))).toEqual(['Maps'])
    expect((await host.oauth.clients.list({ search: 'new.example' })).map((each) => each.client_id)).toEqual([
      'app5',
    ])
  })

  test('filters lead to their clients, with the number of them, and stay in a search (pages 33)', async () => {
    await host.oauth.clients.disable('zebra')
    const page = await open()
    expect(filtersIn(page)).toEqual({ All: '5', Disabled: '1', 'First party': '1', Unused: '5' })
    const disabled = await open(linkTo(page, 'Disabled')!.slice(list.length))
    expect(namesIn(disabled)).toEqual(['Álbum'])
    expect(disabled.html).toContain('<input type="hidden" name="filter" value="disabled">')
    expect(filtersIn(await open('?q=desk&filter=disabled'))).toMatchObject({ All: '1', Disabled: '0' })
    expect(namesIn(await open('?filter=first-party'))).toEqual(['Desk'])
    expect(namesIn(await open('?filter=no-such'))).toHaveLength(5)
    await host.oauth.clients.enable('zebra')
  })

  test('unused are those that users allowed nothing and that have no token (pages 33)', async () => {
    const other = await startHost({ options: { features: [admin(administrators)] } })
    const carol = carolAt(other)
    const before = Number(filtersIn(await carol.get(list)).Unused)
    await tokensFor(other, { scope: 'openid' }, {}, { agent: new RawBrowser(other.app), as: ada })
    const page = await carol.get(`${list}?filter=unused`)
    expect(filtersIn(page).Unused).toBe(String(before - 1))
    expect(page.html).not.toContain('client_id=web"')
    await other.close()
  })

  test('shows a thousand in pages of fifty, with place, previous and next, in eight statements', async () => {
    const { knex, tablePrefix } = host.database
    const [row] = await host.table('clients').where({ client_id: 'bee' })
    const rows = Array.from({ length: 1000 }, (_, index) => ({
      ...row,
      client_id: `c-${1999 - index}`,
      metadata: JSON.stringify({ ...JSON.parse(row.metadata), client_name: `No. ${1000 + index}` }),
      search_text: `c-${1999 - index}\nno. ${1000 + index}`,
      sort_name: `no. ${1000 + index}`,
    }))
    await knex.batchInsert(`${tablePrefix}clients`, rows, 50)
    const carol = carolAt(host)
    await carol.get(list)
    const count = await countStatements(knex, [`${tablePrefix}sessions`, host.usersTable])
    const seen: string[] = []
    let page = await carol.get(`${list}?q=no.`)
    for (let number = 1; number <= 20; number += 1) {
      expect(textOf(page)).toContain(
        `${number * 50 - 49}–${number === 20 ? '1,000' : number * 50} of 1,000 clients`,
      )
      seen.push(...namesIn(page))
      expect(linkTo(page, 'Previous page') === undefined).toBe(number === 1)
      const next = linkTo(page, 'Next page')
      expect(next === undefined).toBe(number === 20)
      count.reset()
      if (next) page = await carol.get(next)
      if (next) expect(count.ours.length).toBeLessThanOrEqual(8)
    }
    expect(seen).toEqual(rows.map((_, index) => `No. ${1000 + index}`))
    const before = await carol.get(linkTo(page, 'Previous page')!)
    expect(namesIn(before)).toEqual(seen.slice(900, 950))
    // A page after the last one is empty and leads back.
    const beyond = await carol.get(`${list}?q=no.&page=999`)
    expect(textOf(beyond)).toContain('Previous page')
    expect(namesIn(beyond)).toEqual([])
  })

  test('a name that is longer than the sort key, and cut within a character, is listed', async () => {
    const name = `${'a'.repeat(63)}😀${'İ'.repeat(100)}`
    const { client_id } = await create('odd', { client_name: name })
    expect((await open('?q=odd')).html).toContain(`client_id=${client_id}`)
  })
})

describe('the use of a client', () => {
  const storing = laterHost({ options: { storedEvents: true, features: [admin(administrators)] } })
  beforeAll(async () => {
    await storing.start()
    await storing.oauth.clients.update('web', { client_name: 'Web' })
    for (const as of [ada, ada, bob])
      await tokensFor(storing, {}, {}, { agent: new RawBrowser(storing.app), as })
  })
  afterAll(storing.close)
  const row = async (name: string): Promise<string> => {
    const { html } = await carolAt(storing).get(list)
    return textOf({ html: html.split('<li>').find((each) => each.includes(`<bdi>${name}<`)) ?? '' } as Answer)
  }

  test('is in the list: how many users it has, and when it last got tokens', async () => {
    const today = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date())
    expect(await row('Web')).toContain(`2 users Last used ${today}`)
  })

  test('counts the users of a client that asks for no consent, on its own page too', async () => {
    await storing.table('consents').where({ client_id: 'web' }).delete()
    expect(await row('Web')).toContain('2 users Last used')
    expect(textOf(await carolAt(storing).get('/oauth/admin/client?client_id=web'))).toContain('Users 2 ')
  })

  test('is not known if its newest events do not tell it', async () => {
    await storing.oauth.clients.create({ client_id: 'idle', redirect_uris: ['https://idle.example/cb'] })
    expect(await row('idle')).toContain('0 users Not used lately')
  })

  test('says that there are more users than were counted', async () => {
    const { knex, tablePrefix } = storing.database
    const consent = { client_id: 'web', scopes: '', terms: '[]', created_at: 1, updated_at: 1 }
    const many = Array.from({ length: 1000 }, (_, number) => ({ ...consent, subject: `user-${number}` }))
    await knex.batchInsert(`${tablePrefix}consents`, many, 50)
    expect(await row('Web')).toContain('1,000+ users')
  })
})

test('a client that waits is tagged, can be found by its owner, and is counted at Requests', async () => {
  const options = {
    features: [admin(administrators), developers({ ...developerOptions, allow: () => 'approval' as const })],
  }
  const host = await startHost({ options, clients: [] })
  const carol = carolAt(host)
  expect(textOf(await carol.get(list))).toMatch(/Clients Requests Users/)
  const owner = await signedIn(ada, host)
  const { clientId } = await register(owner, { client_name: 'Trail' })
  await register(await signedIn(bob, host), { client_name: 'Other' })
  const page = await carol.get(list)
  expect(textOf(page)).toMatch(/Clients Requests 2 Users/)
  expect(textOf(page)).toMatch(/Trail Waiting for approval Not verified/)
  expect(filtersIn(page)).toMatchObject({ All: '2', 'Waiting for approval': '2' })
  expect(namesIn(await carol.get(`${list}?filter=waiting`))).toEqual(['Other', 'Trail'])
  for (const sought of [ada.email, '1']) {
    const found = await carol.get(`${list}?filter=waiting&q=${encodeURIComponent(sought)}`)
    expect(namesIn(found)).toContain('Trail')
    expect(filtersIn(found)['Waiting for approval']).toBe(String(namesIn(found).length))
  }
  expect(namesIn(await carol.get(`${list}?q=${encodeURIComponent(bob.email)}`))).toEqual(['Other'])
  expect(textOf(await carol.get(`/oauth/admin/client?client_id=${clientId}`))).toContain(
    'Trail Waiting for approval Not verified',
  )
  await host.oauth.developers!.approve(clientId)
  const approved = await carol.get(list)
  expect(textOf(approved)).toMatch(/Clients Requests 1 Users/)
  expect(filtersIn(approved)).toMatchObject({ 'Waiting for approval': '1', Disabled: '1' })
  await host.close()
})
