import type { ClientSeed } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  apiSide,
  changesNothing,
  comparable,
  expectRefusal,
  native,
  otherSecret,
  rivals,
  web,
} from '../support/api-side.ts'
import { callback, secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import { asserted } from '../support/signing-client.ts'
import { type Fields, underAttack } from '../support/target.ts'

afterEach(() => jest.restoreAllMocks())

const confidential = {
  client_secret: secret,
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'] as ClientSeed['grant_types'],
  scope: 'openid notes:read',
}
const basic = (credentials: string | Buffer): Fields => ({
  Authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})

/** The endpoints at which clients say who they are, each with a request that would be served. */
const endpoints: readonly [string, Asked][] = [
  ['/token', { grant_type: 'client_credentials' }],
  ['/introspect', { token: `lk_at_${'A'.repeat(43)}` }],
  ['/revoke', { token: `lk_rt_${'A'.repeat(43)}` }],
]

underAttack(
  'client authentication',
  (target, { test, everyMount }) => {
    const { ask, codeFor, introspect, own, table, tokensFor } = apiSide(target)

    beforeAll(async () => {
      await table('clients').where({ client_id: 'off' }).update({ disabled_at: 1 })
      await table('clients').where({ client_id: 'blank' }).update({ secret_hash: null })
      await table('clients')
        .where({ client_id: 'hollow' })
        .update({ secret_hash: hashSecret('') })
    })
    afterEach(async () => {
      expect((await own()).status).toBe(200)
    })

    /** Sends the same credentials to every endpoint; nothing is written by it. */
    const everywhere = async (fields: Asked, headers?: Fields): Promise<Answer[]> => {
      const answers: Answer[] = []
      await changesNothing(target(), async () => {
        for (const [path, form] of endpoints) answers.push(await ask(path, { ...form, ...fields }, headers))
      })
      return answers
    }

    // RFC 6749 §2.1, §2.3.1 and §5.2, RFC 6819 §4.1.1, §4.3.4 and §4.3.5, ASVS 10.4.10; CVE-2024-47000, CVE-2026-44476.
    test.each<[string, Asked]>([
      ['an unknown client', { client_id: 'unregistered' }],
      ['no secret, by a client that has one', { client_secret: undefined }],
      ['an empty secret', { client_secret: '' }],
      ['the secret of another client', { client_secret: otherSecret }],
      ['the hash of the secret', { client_secret: hashSecret(secret) }],
      ['the beginning of the secret', { client_secret: secret.slice(0, -1) }],
      ['the secret in other letters', { client_secret: secret.toUpperCase() }],
      ['the secret and a space', { client_secret: `${secret} ` }],
      ['the client_id in capitals, as MariaDB may compare it', { client_id: 'WEB' }],
      ['a space behind the client_id, which MariaDB pads away', { client_id: 'web ' }],
      ['an accent in the client_id, as MariaDB may compare it', { client_id: 'wéb' }],
      ['a secret for a public client', { client_id: 'native' }],
      ['a client that is switched off', { client_id: 'off' }],
      ['the form body, by a client of Basic', { client_id: 'basic' }],
      ['“null”, for a client that has none left', { client_id: 'blank', client_secret: 'null' }],
      ['an empty secret, for a client that has none left', { client_id: 'blank', client_secret: '' }],
      ['an empty secret, for a client whose secret is empty', { client_id: 'hollow', client_secret: '' }],
    ])('%s: refused at every endpoint, without a challenge', async (_, fields) => {
      for (const answer of await everywhere({ ...web, ...fields })) {
        expectRefusal(answer, 401, 'invalid_client')
        expect(answer.headers).not.toHaveProperty('www-authenticate')
      }
    })

    test.each<[string, Fields]>([
      ['an unknown client', basic(`nobody:${secret}`)],
      ['the secret of another client', basic(`web:${otherSecret}`)],
      ['an empty secret', basic('web:')],
      ['an encoded NUL behind the client_id, at which PostgreSQL throws', basic(`web%00:${secret}`)],
      ['a public client with a secret', basic('native:x')],
      ['a client that is switched off', basic(`off:${secret}`)],
      ['a client of the form body', basic(`post:${secret}`)],
      ['an empty secret, for a client whose secret is empty', basic('hollow:')],
    ])(
      '%s in the header: refused at every endpoint, with a challenge (RFC 6749 §2.3.1 and §5.2)',
      async (_, headers) => {
        for (const answer of await everywhere({}, headers)) {
          expectRefusal(answer, 401, 'invalid_client')
          expect(answer.headers['www-authenticate']).toBe('Basic realm="token", charset="UTF-8"')
        }
      },
    )

    test.each<[string, Asked, Fields?]>([
      ['the secret in header and body', web, basic(`web:${secret}`)],
      ['the secrets of two clients', web, basic(`other:${otherSecret}`)],
      ['another client_id in the body', { client_id: 'other' }, basic(`web:${secret}`)],
      ['a bearer token beside the secret', web, { Authorization: 'Bearer x' }],
      ['an assertion beside the secret', { ...web, ...asserted('a.b.c') }],
      ['an assertion beside the header', asserted('a.b.c'), basic(`web:${secret}`)],
      ['the type of an assertion beside the secret', { ...web, client_assertion_type: 'x' }],
      ['none, and no name', {}],
      ['a NUL behind the client_id, at which PostgreSQL throws', { ...web, client_id: 'web\0' }],
      ['a secret of 2,049 characters', { client_id: 'web', client_secret: 'x'.repeat(2049) }],
    ])('%s: refused as no request at every endpoint (RFC 6749 §2.3)', async (_, fields, headers = {}) => {
      for (const answer of await everywhere(fields, headers)) expectRefusal(answer, 400, 'invalid_request')
    })

    test('refusals do not show which clients are registered, for what, or disabled (ASVS 6.3.8, RFC 6749 §5.2)', async () => {
      const wrong = 'w'.repeat(40)
      const inForm = [
        ...['unregistered', 'web', 'native', 'blank'].map((client_id) => ({
          client_id,
          client_secret: wrong,
        })),
        ...['off', 'basic', 'WEB'].map((client_id) => ({ client_id, client_secret: secret })),
      ]
      const inHeader = [
        `nobody:${wrong}`,
        `web:${wrong}`,
        `native:${wrong}`,
        `off:${secret}`,
        `post:${secret}`,
        '%:%',
      ]
      for (const [path, form] of endpoints) {
        const [first, ...others] = await Promise.all(
          inForm.map((fields) => ask(path, { ...form, ...fields })),
        )
        for (const answer of others) expect(comparable(answer)).toEqual(comparable(first!))
        const [header, ...headers] = await Promise.all(inHeader.map((text) => ask(path, form, basic(text))))
        for (const answer of headers) expect(comparable(answer)).toEqual(comparable(header!))
        expect(header!.html).toBe(first!.html)
      }
    })

    test('an unauthenticated stranger learns nothing of a grant: that comes first (RFC 6749 §3.2.1)', async () => {
      const [code, { refresh_token }] = [await codeFor(), await tokensFor()]
      const fields = { client_id: 'web', client_secret: 'wrong', redirect_uri: callback }
      const grants = [
        { grant_type: 'authorization_code', code },
        { grant_type: 'authorization_code', code: `lk_ac_${'A'.repeat(43)}` },
        { grant_type: 'refresh_token', refresh_token },
        { grant_type: 'refresh_token', refresh_token: 'x' },
        { grant_type: 'password' },
        {},
      ]
      const answers = await Promise.all(grants.map((grant) => ask('/token', { ...grant, ...fields })))
      for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!))
      expectRefusal(answers[0]!, 401, 'invalid_client')
    })

    everyMount(() => {
      test('credentials in the URL are ignored, and as JSON too (RFC 6749 §2.3.1)', async () => {
        for (const [path, form] of endpoints) {
          expectRefusal(await ask(`${path}?${new URLSearchParams(web)}`, form), 400, 'invalid_request')
          const named = await ask(`${path}?client_secret=${secret}`, { ...form, client_id: 'web' })
          expectRefusal(named, 401, 'invalid_client')
          const body = JSON.stringify({ ...form, ...web })
          expectRefusal(await ask(path, body, { 'Content-Type': 'application/json' }), 415, 'invalid_request')
        }
      })
    })

    test('a public client cannot pass where a secret is asked for (RFC 7662 §2.1, RFC 6749 §4.4)', async () => {
      expectRefusal(await introspect(`lk_at_${'A'.repeat(43)}`, native), 401, 'invalid_client')
      expectRefusal(await own(native), 400, 'unauthorized_client')
    })
  },
  () => ({
    clients: [
      ...rivals,
      { ...confidential, client_id: 'basic', token_endpoint_auth_method: 'client_secret_basic' },
      { ...confidential, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
      ...['off', 'blank', 'hollow'].map((client_id) => ({ ...confidential, client_id })),
    ],
  }),
)
