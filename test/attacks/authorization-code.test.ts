import supertest from 'supertest'
import { seedUsers } from '../../lib/index.ts'
import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  type Asked,
  alive,
  apiSide,
  changesNothing,
  dead,
  expectRefusal,
  jsonOf,
  mobile,
  native,
  other,
  otherSecret,
  rivals,
  s256,
  tokensOf,
  verifier,
} from '../support/api-side.ts'
import { stopClock } from '../support/clock.ts'
import { callback, type Host, pkce, startHost } from '../support/host.ts'
import { forkServers, type ServerProcesses } from '../support/server-processes.ts'
import { openSharedDatabase, type SharedDatabase } from '../support/shared-database.ts'
import { underAttack } from '../support/target.ts'
import { ada, bob, codeFor as codeOfHost, tokensFor as tokensOfHost, web } from '../support/tokens.ts'

afterEach(() => jest.restoreAllMocks())

/** A code that its owner could redeem, and somebody who has got hold of it. */
interface Theft {
  readonly what: string
  readonly source: string
  /** Parameters of the authorization request. */
  readonly asked?: Asked
  /** What the owner sends, beside what `web` always sends. */
  readonly right?: Asked
  /** What is sent instead of it. */
  readonly wrong: Asked
  readonly refusal?: readonly [number, string]
}

const plain = { code_challenge: s256.code_challenge, code_challenge_method: 'plain' }
const ofNative = { client_id: 'native', ...s256 }
const byNative = { ...native, code_verifier: verifier }
const loopback = 'http://127.0.0.1:49152/callback'
const isMissing = [400, 'invalid_request'] as const
const isUnproven = [401, 'invalid_client'] as const

const thefts: Theft[] = [
  {
    what: 'another confidential client',
    source: 'RFC 6749 §4.1.3, RFC 9700 §4.5, CVE-2026-55672',
    wrong: other,
  },
  { what: 'a public client that gives its own name', source: 'RFC 6819 §4.4.1.7', wrong: native },
  {
    what: 'a stranger in the name of its owner, without the secret',
    source: 'RFC 6749 §3.2.1, ASVS 10.4.10',
    wrong: { client_secret: undefined },
    refusal: isUnproven,
  },
  {
    what: 'another client in the name of its owner, with a secret of its own',
    source: 'RFC 6819 §5.2.4.4',
    wrong: { client_secret: otherSecret },
    refusal: isUnproven,
  },
  {
    what: 'another public client that has learnt the verifier',
    source: 'RFC 6819 §5.2.4.4, RFC 9700 §4.5',
    asked: ofNative,
    right: byNative,
    wrong: mobile,
  },
  {
    what: 'a confidential client that has learnt the verifier of a public one',
    source: 'RFC 6749 §4.1.3',
    asked: ofNative,
    right: byNative,
    wrong: other,
  },
  {
    what: 'a public client that makes up a secret',
    source: 'RFC 6749 §2.3, ASVS 10.4.10',
    asked: ofNative,
    right: byNative,
    wrong: { client_secret: otherSecret },
    refusal: isUnproven,
  },
  {
    what: 'an app on the same device that listens on another port',
    source: 'RFC 8252 §8.3, RFC 6819 §4.4.1.1',
    asked: { ...ofNative, redirect_uri: loopback },
    right: { ...byNative, redirect_uri: loopback },
    wrong: { redirect_uri: 'http://127.0.0.1:49153/callback' },
  },
  ...[
    ['another address', 'https://client.example.com/other'],
    ['the host in capitals', 'https://CLIENT.example.com/callback'],
    ['a slash at the end', `${callback}/`],
    ['a query', `${callback}?`],
    ['the beginning of it', 'https://client.example.com/call'],
  ].map(([what, redirect_uri]) => ({
    what: `a client whose redirect URI is not that of the request, but ${what}`,
    source: 'RFC 6749 §4.1.3, RFC 6819 §5.2.4.5, ASVS 10.4.1',
    wrong: { redirect_uri },
  })),
  {
    what: 'a client that names no redirect URI',
    source: 'RFC 6749 §4.1.3, RFC 9700 §4.1',
    wrong: { redirect_uri: undefined },
    refusal: isMissing,
  },
  {
    what: 'a client that names an empty redirect URI',
    source: 'RFC 6749 §4.1.3',
    wrong: { redirect_uri: '' },
    refusal: isMissing,
  },
  {
    what: 'a client that proves PKCE although the challenge was cut out of the request',
    source: 'RFC 9700 §4.8, CVE-2024-23647, CVE-2024-22258',
    wrong: { code_verifier: verifier },
  },
  ...(
    [
      ['no verifier', 'RFC 7636 §4.6, CVE-2023-48228, CVE-2025-4144', undefined],
      ['another verifier', 'RFC 7636 §4.6', 'w'.repeat(43)],
      ['a verifier of 42 characters', 'RFC 7636 §4.1', 'v'.repeat(42)],
      ['the verifier in other letters', 'RFC 7636 §4.1', 'V'.repeat(43)],
      ['the challenge, as if the method were plain', 'RFC 7636 §4.6, RFC 9700 §4.8', s256.code_challenge],
    ] as const
  ).map(([what, source, code_verifier]) => ({
    what: `its own client with ${what}`,
    source,
    asked: s256,
    right: { code_verifier: verifier },
    wrong: { code_verifier },
  })),
  {
    what: 'its own client with a verifier whose hash is the plain challenge',
    source: 'RFC 7636 §4.6',
    asked: plain,
    right: { code_verifier: plain.code_challenge },
    wrong: { code_verifier: verifier },
  },
]

underAttack(
  'a stolen code',
  (target, { describe, test, everyMount }) => {
    const { ask, codeFor, guarded, redeem, refresh, standing, table, token, tokensFor, userinfo } =
      apiSide(target)

    describe.each(thefts)('redeemed by $what ($source)', ({ asked, right = {}, wrong, refusal }) => {
      const [status, error] = refusal ?? [400, 'invalid_grant']

      test('is refused, writes nothing, and its owner can still redeem it', async () => {
        const code = await codeFor(asked)
        const refused = await changesNothing(target(), () => redeem(code, { ...right, ...wrong }))
        expectRefusal(refused, status, error)
        expect((await redeem(code, right)).status).toBe(200)
      })

      test('after its owner, ends nothing', async () => {
        const code = await codeFor(asked)
        const tokens = tokensOf(await redeem(code, right))
        const refused = await changesNothing(target(), () => redeem(code, { ...right, ...wrong }))
        expectRefusal(refused, status, error)
        expect(await standing(tokens, right)).toEqual(alive)
      })
    })

    test.each([42, 129])(
      'a verifier of %i characters is refused even where its hash is the challenge (RFC 7636 §4.1, CVE-2026-41213)',
      async (length) => {
        const short = 'v'.repeat(length)
        const code = await codeFor({ ...s256, code_challenge: pkce(short).challenge })
        const refused = await changesNothing(target(), () => redeem(code, { code_verifier: short }))
        expectRefusal(refused, 400, 'invalid_grant')
      },
    )

    test('put into another session of the same client, it meets the wrong verifier (RFC 9700 §4.5.1)', async () => {
      const [victim, thief] = [pkce(), pkce()]
      const challengeOf = ({ challenge }: typeof victim) => ({
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      const stolen = await codeFor(challengeOf(victim))
      const own = await codeFor(challengeOf(thief), bob)
      expectRefusal(await redeem(stolen, { code_verifier: thief.verifier }), 400, 'invalid_grant')
      expectRefusal(await redeem(own, { code_verifier: victim.verifier }), 400, 'invalid_grant')
      expect((await redeem(own, { code_verifier: thief.verifier })).status).toBe(200)
      expect((await redeem(stolen, { code_verifier: victim.verifier })).status).toBe(200)
    })

    test('with a wrong verifier ten times, it is neither guessed nor burnt (RFC 6819 §4.4.1.3)', async () => {
      const code = await codeFor(s256)
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, turn) => redeem(code, { code_verifier: `${turn}`.repeat(43) })),
      )
      for (const answer of answers) expectRefusal(answer, 400, 'invalid_grant')
      expect((await redeem(code, { code_verifier: verifier })).status).toBe(200)
    })

    describe('changed on the way is unknown, and the code itself stays good', () => {
      test.each<[string, (code: string) => string, string?]>([
        ['cut by one character (CVE-2026-27840)', (code) => code.slice(0, -1)],
        ['one character longer', (code) => `${code}A`],
        ['in capitals, which a database may take for the same', (code) => code.toUpperCase()],
        ['with a space behind, which MariaDB may pad away', (code) => `${code} `],
        ['as an access token', (code) => code.replace('lk_ac_', 'lk_at_')],
        ['without its kind', (code) => code.replace('lk_ac_', '')],
        ['with a NUL behind, at which PostgreSQL throws', (code) => `${code}\0`, 'invalid_request'],
        ['with 129 characters', (code) => code.padEnd(129, 'A'), 'invalid_request'],
      ])('%s', async (_, change, error = 'invalid_grant') => {
        const code = await codeFor()
        expectRefusal(await changesNothing(target(), () => redeem(change(code))), 400, error)
        expect((await redeem(code)).status).toBe(200)
      })
    })

    test('read from the database is worth nothing: only its hash is there (RFC 6819 §4.4.1.2)', async () => {
      const code = await codeFor()
      const hash = hashSecret(code)
      const row = await table('authorizations').where({ code_hash: hash }).first()
      expect(JSON.stringify(row)).not.toContain(code.slice(6))
      for (const value of [hash, `lk_ac_${hash}`, row.id, `lk_ac_${row.id}`, row.sid]) {
        expectRefusal(await changesNothing(target(), () => redeem(value)), 400, 'invalid_grant')
      }
      expect((await redeem(code)).status).toBe(200)
    })

    test('is not accepted if it was issued for another purpose (RFC 8725 §3.12, ASVS 9.2.2)', async () => {
      const tokens = await tokensFor()
      const values = [tokens.access_token, tokens.refresh_token, otherSecret, `lk_ar_${'A'.repeat(43)}`]
      for (const value of values) {
        expectRefusal(await changesNothing(target(), () => redeem(value)), 400, 'invalid_grant')
      }
      expectRefusal(await redeem(tokens.id_token), 400, 'invalid_request')
      expect(await standing(tokens)).toEqual(alive)
    })

    test('used a second time, right in every respect, ends every token of it (RFC 6749 §4.1.2, ASVS 10.4.2)', async () => {
      const bystander = await tokensFor({ scope: 'openid notes:read' })
      const code = await codeFor({ scope: 'openid notes:read' })
      const first = tokensOf(await redeem(code))
      const second = tokensOf(await refresh(first.refresh_token))
      expect((await guarded(second.access_token)).status).toBe(200)
      expectRefusal(await redeem(code), 400, 'invalid_grant')
      expect((await userinfo(first.access_token)).status).toBe(401)
      expect((await guarded(second.access_token)).status).toBe(401)
      expect(await standing(second)).toEqual(dead)
      expect(await standing(bystander)).toEqual(alive)
      expectRefusal(await redeem(code), 400, 'invalid_grant')
    })

    test('used a second time long after it expired ends every token too (RFC 6819 §5.2.1.1)', async () => {
      const clock = stopClock()
      const code = await codeFor()
      const tokens = tokensOf(await redeem(code))
      clock.travel(1200)
      expectRefusal(await redeem(code), 400, 'invalid_grant')
      expect(await standing(tokens)).toEqual(dead)
    })

    test('expires after a minute, to the second (RFC 6819 §5.1.5.3, ASVS 10.4.3)', async () => {
      const clock = stopClock()
      const [early, late] = [await codeFor(), await codeFor()]
      clock.travel(59)
      expect((await redeem(early)).status).toBe(200)
      clock.travel(1)
      expectRefusal(await changesNothing(target(), () => redeem(late)), 400, 'invalid_grant')
    })

    test('used ten times at once gives tokens once, and they are dead (CVE-2026-53518, CVE-2026-47386)', async () => {
      const code = await codeFor()
      const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(code)))
      const [tokens, ...more] = answers.filter(({ status }) => status === 200).map(tokensOf)
      expect(more).toEqual([])
      for (const answer of answers) {
        if (answer.status !== 200) expectRefusal(answer, 400, 'invalid_grant')
      }
      expect(await standing(tokens!)).toEqual(dead)
    })

    test('gets no further than the user allowed, whatever scope is asked for with it (RFC 6749 §4.1.3)', async () => {
      const code = await codeFor({ scope: 'openid' })
      const answer = await redeem(code, { scope: 'openid email notes:read notes:write' })
      expect(jsonOf(answer)).toMatchObject({ scope: 'openid' })
      const { access_token } = tokensOf(answer)
      expect(jsonOf(await userinfo(access_token))).toEqual({ sub: String(ada.id) })
      expectRefusal(await guarded(access_token), 403, 'insufficient_scope')
    })

    everyMount(() => {
      test('in the address instead of the body is not looked at (RFC 9700 §4.3.1)', async () => {
        const code = await codeFor()
        const query = new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          redirect_uri: callback,
          ...web,
        })
        expectRefusal(
          await changesNothing(target(), () => ask(`/token?${query}`, {})),
          400,
          'invalid_request',
        )
        expectRefusal(await ask(`/token?${query}`, web), 400, 'invalid_request')
        expect((await redeem(code)).status).toBe(200)
      })

      test.each(['code', 'redirect_uri', 'code_verifier', 'client_id', 'client_secret', 'grant_type'])(
        'with %s twice, right first or last, is refused and not burnt (RFC 6749 §3.2)',
        async (name) => {
          const code = await codeFor(s256)
          const fields = new URLSearchParams({
            grant_type: 'authorization_code',
            code,
            redirect_uri: callback,
            code_verifier: verifier,
            ...web,
          })
          for (const body of [`${fields}&${name}=x`, `${name}=x&${fields}`]) {
            expectRefusal(await changesNothing(target(), () => token(body)), 400, 'invalid_request')
          }
          expect((await token(String(fields))).status).toBe(200)
        },
      )
    })
  },
  () => ({ clients: rivals }),
)

describe('two processes on one database (RFC 6749 §10.5, RFC 9700 §4.14.2)', () => {
  jest.setTimeout(60_000)
  const serverSecret = 'a secret of the tests that is long enough'
  let processes: ServerProcesses
  let database: SharedDatabase
  let host: Host
  let origins: string[]

  beforeAll(async () => {
    processes = await forkServers(2)
    database = openSharedDatabase()
    const { config, tablePrefix } = database
    origins = await processes.start({
      database: config,
      tablePrefix,
      secret: serverSecret,
      refreshTokenGracePeriod: 10,
    })
    // The person signs in here, in a third process, as one of the kit's own users, whom all three can see.
    host = await startHost({ database, options: { users: undefined, secrets: [serverSecret] } })
    await seedUsers(database.knex, [{ username: ada.email, password: ada.password }], { tablePrefix })
  })
  afterAll(async () => {
    await host.close()
    await processes.close()
  })

  /** 503 means that nothing was done, and is asked again as `Retry-After` says. */
  const send = async (
    turn: number,
    path: string,
    fields: Record<string, string>,
    timeoutMs = 5,
  ): Promise<supertest.Response> => {
    const answer = await supertest(origins[turn % origins.length]!)
      .post(`/oauth${path}`)
      .type('form')
      .send({ ...fields, ...web })
    return answer.status === 503 && timeoutMs > 0 ? send(turn, path, fields, timeoutMs - 1) : answer
  }
  const statuses = (answers: readonly supertest.Response[]) => answers.map(({ status }) => status).sort()
  const userinfoOf = (turn: number, token: string) =>
    supertest(origins[turn % origins.length]!)
      .get('/oauth/userinfo')
      .set('Authorization', `Bearer ${token}`)

  test('one right redemption among twenty wrong ones succeeds, and its tokens live', async () => {
    const code = await codeOfHost(host, { ...s256 })
    const fields = { grant_type: 'authorization_code', code, redirect_uri: callback }
    const answers = await Promise.all(
      Array.from({ length: 21 }, (_, turn) =>
        send(turn, '/token', {
          ...fields,
          code_verifier: turn === 10 ? verifier : `${turn % 10}`.repeat(43),
        }),
      ),
    )
    expect(statuses(answers)).toEqual([200, ...Array.from({ length: 20 }, () => 400)])
    const { access_token } = answers[10]!.body
    expect(statuses(await Promise.all([userinfoOf(0, access_token), userinfoOf(1, access_token)]))).toEqual([
      200, 200,
    ])
  })

  test('a revocation among twenty refreshes leaves no valid token, in any order', async () => {
    const { refresh_token } = await tokensOfHost(host)
    const answers = await Promise.all(
      Array.from({ length: 21 }, (_, turn) =>
        turn === 10
          ? send(turn, '/revoke', { token: refresh_token })
          : send(turn, '/token', { grant_type: 'refresh_token', refresh_token }),
      ),
    )
    expect(answers[10]!.status).toBe(200)
    const issued = answers.filter(({ body }) => body.access_token !== undefined).map(({ body }) => body)
    for (const [turn, tokens] of issued.entries()) {
      expect((await userinfoOf(turn, tokens.access_token)).status).toBe(401)
      const again = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      expect((await send(turn, '/token', again)).status).toBe(400)
    }
  })
})
