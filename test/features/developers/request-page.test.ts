import type { Request } from 'express'
import { admin, developers } from '../../../lib/features/index.ts'
import { developerOptions, redirectUri, register, root, sent, signedIn } from '../../support/developers.ts'
import { authorizeUrl, callback, type Host, startHost } from '../../support/host.ts'
import { expectErrorPage } from '../../support/outcomes.ts'
import { RawBrowser, textOf } from '../../support/raw-browser.ts'
import { ada } from '../../support/tokens.ts'

const administrators = { allow: ({ req }: { req: Request }) => req.get('x-admin') ?? false }
let host: Host
let owner: RawBrowser
let clientId: string
beforeAll(async () => {
  const options = {
    features: [admin(administrators), developers({ ...developerOptions, allow: () => 'approval' as const })],
  }
  host = await startHost({
    options,
    clients: [{ client_id: 'host', client_name: 'Journal', redirect_uris: [callback] }],
  })
  owner = await signedIn(ada, host)
  clientId = (await register(owner)).clientId
})
afterAll(() => host.close())

const carol = () => new RawBrowser(host.app, undefined, { 'x-admin': 'carol' })
const request = () => carol().get(`/oauth/admin/request?client_id=${clientId}`)
const unescaped = (html: string) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
/** The document in the frame. */
const pictureIn = (html: string): string => unescaped(/ srcdoc="([^"]*)"/.exec(html)?.[1] ?? '')

test('a new client is shown with all that it asks for, and with the login name of its owner', async () => {
  const list = await carol().get('/oauth/admin/requests')
  expect(textOf(list)).toMatch(new RegExp(`Order Desk New ${ada.email} ·`))
  const page = await request()
  const said = textOf(page)
  expect(said).toContain('Approve Order Desk?')
  expect(said).toContain(`Owner ${ada.email}`)
  expect(said).toContain(`Redirect URIs Asked ${redirectUri}`)
  expect(said).toContain('Scopes Asked openid notes:read')
  expect(said).toContain('People can use the client at once')
  expect(said).not.toContain('clients are called')
})

test('the picture is the consent page users will see, and nothing in it can be pressed or run', async () => {
  const { html } = await request()
  expect(html).toMatch(/<iframe [^>]*sandbox="allow-same-origin"/)
  const picture = pictureIn(html)
  expect(picture).toContain('<body inert')
  expect(picture).not.toContain('<script')
  await host.oauth.developers!.approve(clientId)
  const real = await owner.open(
    authorizeUrl({ client_id: clientId, scope: 'openid notes:read', redirect_uri: redirectUri }),
  )
  const headOf = (document: string) => /<h1[\s\S]*?<form/.exec(document)?.[0]
  expect(headOf(picture)).toBe(headOf(real.html))
  const wayBack = (document: string) => /<p class="return">.*/.exec(document)?.[0]
  expect(wayBack(picture)).toBe(wayBack(real.html))
  expect(picture).not.toContain('Unverified app')
  const permissions = (document: string) => (document.match(/<li class="scope">/g) ?? []).length
  expect(permissions(picture)).toBe(permissions(real.html))
  expect(permissions(picture)).toBeGreaterThan(0)
})

test('a change shows what differs, now and as asked, and names other clients of that name', async () => {
  expectErrorPage(await request(), 404)
  await sent(owner, `/edit?client_id=${clientId}`, {
    client_name: 'journal',
    redirect_uris: `${redirectUri}\nhttps://other.example.com/cb`,
  })
  const page = await request()
  const said = textOf(page)
  expect(said).toContain('Approve the change of Order Desk?')
  expect(said).toContain('2 clients are called journal')
  expect(said).toContain('Name Now Order Desk Asked journal')
  expect(said).toContain(`Redirect URIs Now ${redirectUri} Asked ${redirectUri} https://other.example.com/cb`)
  expect(page.html).toContain('<ins><bdi>https://other.example.com/cb</bdi></ins>')
  expect(page.html).not.toContain(`<ins><bdi>${redirectUri}`)
  expect(said).not.toContain('Scopes')
  expect(pictureIn(page.html)).toContain('journal')
  expect(textOf(await owner.open(`${root}/client?client_id=${clientId}`))).toContain('Order Desk')
  expect(textOf(page)).toContain('the client stays as it is')
})

test('the picture names the same way back as the page, also for a client on the developer’s machine', async () => {
  await sent(owner, `/edit?client_id=${clientId}`, { redirect_uris: 'http://localhost:27100/cb' })
  const picture = pictureIn((await request()).html)
  expect(picture).toMatch(/<p class="lead destination"><bdi dir="ltr">localhost:27100</)
  expect(picture).toContain('You’ll return to <bdi>localhost:27100</bdi>')
})

test('what an owner wrote is text on the page and in the picture (pages 34)', async () => {
  await sent(owner, `/edit?client_id=${clientId}`, { client_name: '<b>"x</b>' })
  const { html } = await request()
  expect(html).not.toContain('<b>"x')
  expect(pictureIn(html)).toContain('&lt;b&gt;')
  expect(pictureIn(html)).not.toContain('<b>"x')
})
