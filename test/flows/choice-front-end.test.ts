import { authorizeUrl, clients, type Host, startHost } from '../support/host.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { ada, answerOf, redeem } from '../support/tokens.ts'

const all = Array.from({ length: 120 }, (_, n) => ({ id: `p${n}`, name: `Project ${n}` }))
let host: Host
beforeAll(async () => {
  host = await startHost({
    clients: [{ ...clients[0]!, scope: 'openid notes:read' }],
    options: {
      pages: { url: '/sign-in' },
      choices: {
        project: {
          name: { one: 'project', other: 'projects' },
          scopes: ['notes:read'],
          list: (_user, { after = '0', limit }) => ({
            items: all.slice(Number(after), Number(after) + limit),
            next: String(Number(after) + limit),
          }),
          find: (_user, { ids }) => all.filter(({ id }) => ids.includes(id)),
        },
      },
    },
  })
})
afterAll(() => host.close())

test('a front end of the host chooses among many things, page by page, with the same models', async () => {
  const browser = new RawBrowser(host.app)
  const headers = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' }
  let search = (await browser.get(authorizeUrl({ client_id: 'web', scope: 'openid notes:read' }))).location!
    .search
  const show = async () => JSON.parse((await browser.get(`/oauth/interaction${search}`, headers)).html)
  const send = async (fields: Record<string, string>) => {
    const { model } = await show()
    const sent = { ...model.hidden, ...fields }
    const { redirectTo } = JSON.parse((await browser.post(`/oauth/interaction${search}`, sent, headers)).html)
    const next = new URL(redirectTo, 'http://localhost:3000')
    search = next.search
    return next
  }
  await send({ username: ada.email, password: ada.password })
  expect(await show()).toMatchObject({
    page: 'consent',
    model: { things: [{ kind: 'project', mode: 'all' }] },
  })
  await send({ decision: 'things:project' })
  expect(await show()).toMatchObject({ page: 'things', model: { hasNext: true, things: { length: 50 } } })
  await send({ decision: 'next', 'thing:p1': 'on' })
  await send({ decision: 'use', 'thing:p60': 'on' })
  expect(await show()).toMatchObject({ page: 'consent', model: { things: [{ mode: 'these' }] } })
  const back = await send({ decision: 'allow', 'choice:project': 'these' })
  const tokens = await answerOf(redeem(host, String(back.searchParams.get('code'))))
  expect(tokens).toMatchObject({ authorization_details: [{ identifiers: ['p1', 'p60'] }] })
})
