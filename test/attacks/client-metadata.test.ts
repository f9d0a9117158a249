import { type ClientSeed, migrate, OAuthError, seedClients } from '../../lib/index.ts'
import { openTestDatabase } from '../support/database.ts'
import { callback, secret } from '../support/host.ts'

// CVE-2026-22752: what a client says of itself is checked before it is ever shown or followed.
describe('a client with a hostile', () => {
  const database = openTestDatabase()
  const options = { tablePrefix: database.tablePrefix }
  const registered = () => database.knex(`${database.tablePrefix}clients`)
  beforeAll(() => migrate(database.knex, options))
  afterEach(() => registered().delete())
  afterAll(() => database.close())

  const good: ClientSeed = { client_id: 'new', client_secret: secret, redirect_uris: [callback] }
  const scripts = ['javascript:alert(1)', 'JavaScript:alert(1)', 'data:text/html,x', 'file:///etc/passwd']
  const places =
    'https://*.example.com/ https://x@evil.example/ https://a.example/#x http://a.example/'.split(' ')
  const uris = ['redirect_uris', 'post_logout_redirect_uris'].flatMap((name) =>
    [...scripts, ...places, 'app:/x', 'https://a.example/../x'].map((uri): [string, unknown] => [
      name,
      [uri],
    ]),
  )
  const links = 'client_uri policy_uri tos_uri logo_uri jwks_uri sector_identifier_uri'
    .split(' ')
    .flatMap((name) =>
      [...scripts, 'http://a.example/', '//a.example/'].map((uri): [string, unknown] => [name, uri]),
    )
  const bidi = ['\u202e', '\u2066', '\u061c', '\0', '\n'].map((sign): [string, unknown] => [
    'client_name',
    `Bank${sign}`,
  ])
  test.each([...uris, ...links, ...bidi])('%s %j is not registered', async (name, value) => {
    const seed = { ...good, [name]: value }
    await expect(seedClients(database.knex, [seed], options)).rejects.toThrow(OAuthError)
    expect(await registered()).toEqual([])
  })
})
