import { callback, secret } from '../support/host.ts'
import { fc, runs } from '../support/property.ts'
import type { Answer } from '../support/raw-browser.ts'
import { jsonOf, web } from './api-side.ts'
import { parsedMount, plainMount, startTarget } from './target.ts'

/** What RFC 6749 §5.2, RFC 6750 §3.1 and RFC 7009 §2.2.1 register. */
const registeredErrors = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_token',
  'insufficient_scope',
  'unsupported_token_type',
]
const paths = ['/token', '/introspect', '/revoke', '/userinfo', '/jwks', '/.well-known/openid-configuration']
const names = [
  'grant_type',
  'client_id',
  'client_secret',
  'code',
  'redirect_uri',
  'code_verifier',
  'refresh_token',
  'scope',
  'token',
  'token_type_hint',
  'access_token',
  'client_assertion',
  'client_assertion_type',
  '__proto__',
  'constructor[prototype]',
  'a[b][c]',
  '',
]
const values = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'web',
  'native',
  'signer',
  'openid',
  'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  'e30.e30.',
  `lk_at_${'A'.repeat(43)}`,
  secret,
  callback,
]
const bytes = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ maxLength })
    .map((array) => [...array].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''))
const anything = fc.oneof(
  bytes(200),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(...values),
)
const formBody = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...names), bytes(20)), anything), { maxLength: 12 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'))
const anyBody = fc.oneof({ weight: 3, arbitrary: formBody }, { weight: 1, arbitrary: anything })
/** Node's client refuses to send other characters in a header. */
const headerText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.constantFrom('Basic ', 'Bearer ', 'Basic Og==', 'Basic d2ViOg=='),
  )
  .map((text) => text.replace(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '?'))
const scheme = fc.constantFrom('', 'Basic ', 'Bearer ', 'basic ', 'DPoP ')
const seed = Number(process.env.ATTACK_SEED ?? 20_261_121)

const faultOf = ({ status, html, headers }: Answer): string | undefined => {
  if (status < 200 || status >= 500) return `the status ${status}`
  if (html.length > 8192) return `${html.length} bytes`
  if (headers['content-type'] !== 'application/json') return `the type ${headers['content-type']}`
  const { error } = JSON.parse(html)
  const isRefused = status >= 400
  if (isRefused && !registeredErrors.includes(error)) return `the error ${error}`
  return !isRefused && error !== undefined ? `an error with the status ${status}` : undefined
}

describe('a body', () => {
  let own: Awaited<ReturnType<typeof startTarget>>
  let parsed: Awaited<ReturnType<typeof startTarget>>
  beforeAll(async () => {
    own = await startTarget(plainMount)
    parsed = await startTarget(parsedMount)
  })
  afterAll(async () => {
    await own.close()
    await parsed.close()
  })

  // RFC 6749 §5.2.
  test('of arbitrary bytes gets a short, registered error from every client endpoint', async () => {
    const sent = fc.tuple(fc.constantFrom(...paths), fc.boolean(), anyBody, scheme, headerText)
    await fc.assert(
      fc.asyncProperty(sent, async ([path, isPosted, body, start, text]) => {
        const headers = {
          'Content-Type': 'application/x-www-form-urlencoded',
          ...(start === '' ? {} : { Authorization: start + text }),
        }
        const url = own.base + path
        const answer = isPosted
          ? await own.browser().send('POST', url, { body, headers })
          : await own.get(url, headers)
        expect(faultOf(answer)).toBeUndefined()
      }),
      { numRuns: runs(90), seed },
    )
  })

  test('that the host has parsed never gives more than it otherwise would (CWE-235, CWE-1321)', async () => {
    const usual: [string, string][] = [['grant_type', 'client_credentials'], ...Object.entries(web)]
    const text = fc.oneof(
      fc.constantFrom(...usual.flat(), 'notes:read', 'openid', '', 'x', 'other'),
      bytes(4),
    )
    const suffixes = ['[]', '[0]', '[a]', '[__proto__]', '.x', '%5B%5D', '%00', '+']
    const suffix = fc.constantFrom('', '', '', '', ...suffixes)
    const name = fc.constantFrom(...usual.map(([name]) => name), 'scope', '__proto__', 'constructor')
    const pair = fc.tuple(name, suffix, text).map(([name, more, value]) => `${name}${more}=${value}`)
    const sent = fc
      .tuple(fc.subarray(usual), fc.array(pair, { maxLength: 4 }), fc.nat(6))
      .map(([kept, more, at]) => {
        const pairs = kept.map(([name, value]) => `${name}=${value}`)
        return [...pairs.slice(0, at), ...more, ...pairs.slice(at)].join('&')
      })
    let granted = 0
    await fc.assert(
      fc.asyncProperty(sent, async (body) => {
        const theirs = await parsed.post(`${parsed.base}/token`, body)
        expect(faultOf(theirs)).toBeUndefined()
        if (theirs.status !== 200) return
        granted += 1
        const ours = await own.post(`${own.base}/token`, body)
        expect({ status: ours.status, scope: jsonOf(ours).scope }).toEqual({
          status: 200,
          scope: jsonOf(theirs).scope,
        })
      }),
      { numRuns: runs(100), seed },
    )
    expect(granted).toBeGreaterThan(1)
  })
})
