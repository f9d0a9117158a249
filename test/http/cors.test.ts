import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Host, startHost } from '../support/host.ts'

let host: Host
beforeAll(async () => {
  host = await startHost({
    options: {
      protocol: { dpop: true, mutualTls: { header: 'X-SSL-Client-Cert' } },
      features: [registration()],
    },
  })
})
afterAll(() => host.close())

/** The headers that a script may send, after a browser asked for these. */
const allowed = async (names: string | undefined, path = '/token') => {
  const asking = supertest(host.app).options(`/oauth${path}`).set('Origin', 'https://spa.example.com')
  const { status, headers } = await (names === undefined
    ? asking
    : asking.set('Access-Control-Request-Headers', names))
  expect([status, headers['access-control-allow-credentials']]).toEqual([204, undefined])
  return headers['access-control-allow-headers']
}

test('a script may send every header that it asks for, at each endpoint with CORS', async () => {
  const paths = ['/token', '/revoke', '/userinfo', '/register', '/jwks', '/.well-known/openid-configuration']
  const known = serverBehind(host.oauth)?.endpoints.map(({ path }) => path)
  expect(known).toEqual(expect.arrayContaining(paths))
  for (const path of paths)
    expect({ path, allowed: await allowed('x-requested-with,dpop', path) }).toEqual({
      path,
      allowed: 'authorization, content-type, x-requested-with, dpop',
    })
})

test.each([
  [undefined, ''],
  ['', ''],
  ['X-Requested-With', ', x-requested-with'],
  ['a, b ,a', ', a, b'],
  ['ok,"not a name",<script>,*', ', ok'],
  ['x'.repeat(101), ''],
  ['x-ssl-client-cert,*,x-other', ', x-other'],
  [Array.from({ length: 200 }, (_, index) => `x${index}`).join(), expect.stringMatching(/^(, x\d+){50}$/)],
])('asked for %j, it may send only names, and not too many', async (names, more) => {
  const base = 'authorization, content-type'
  const answer = await allowed(names)
  expect(answer?.startsWith(base)).toBe(true)
  expect(answer?.slice(base.length)).toEqual(more)
})
