import { hashSecret } from '../../lib/keys/secrets.ts'
import { stopClock } from '../support/clock.ts'
import { secret } from '../support/host.ts'
import type { Answer } from '../support/raw-browser.ts'
import { bob, type TokenAnswer } from '../support/tokens.ts'
import {
  type Asked,
  alive,
  apiSide,
  comparable,
  dead,
  expectRefusal,
  jsonOf,
  mobile,
  native,
  other,
  otherSecret,
  rivals,
  tokensOf,
  web,
} from './api-side.ts'
import { type Mount, mounts, plainMount, targetIn, writesNothing } from './target.ts'

afterEach(() => jest.restoreAllMocks())

const unknown = `lk_at_${'A'.repeat(43)}`
const withoutCredentials = { client_id: undefined, client_secret: undefined }
const bothOf = ({ access_token, refresh_token }: TokenAnswer): string[] => [access_token, refresh_token]
const hints = [undefined, 'access_token', 'refresh_token', 'x']

/** Something that ends, or suspends, what a user has granted to a client. */
interface Ending {
  readonly event: string
  readonly end: () => Promise<unknown>
  /** Reverses it; what was only suspended then works again, because no attempt used it up. */
  readonly undo?: () => Promise<unknown>
  readonly client?: Asked
  /** The error of `/token`. @default invalid_grant */
  readonly error?: string
  readonly sparesOffline?: boolean
}

/** What the attacks have at a target in that mount. */
const attackerIn = (mount: Mount) => {
  const target = targetIn(mount, () => ({ clients: rivals }))
  const side = apiSide(target)
  const { introspect, revoke } = side

  /** RFC 7662 §2.2: not a byte more than for a token that never was, and asking changes nothing. */
  const expectInactive = async (value: string, asker: Asked = {}): Promise<void> => {
    const answer = await writesNothing(target(), () => introspect(value, asker))
    expect({ status: answer.status, html: answer.html }).toEqual({ status: 200, html: '{"active":false}' })
    expect(comparable(answer)).toEqual(comparable(await introspect(unknown, asker)))
  }
  const expectDone = (answer: Answer): void => {
    expect({ status: answer.status, html: answer.html }).toEqual({ status: 200, html: '{}' })
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
  }
  /** RFC 7009 §2.2: the same bytes as for a token that never was, and nothing is written. */
  const expectNotRevoked = async (value: string, thief: Asked = {}): Promise<void> => {
    const answer = await writesNothing(target(), () => revoke(value, thief))
    expectDone(answer)
    expect(comparable(answer)).toEqual(comparable(await revoke(unknown, thief)))
  }
  return { ...side, target, expectInactive, expectDone, expectNotRevoked }
}

describe('a token', () => {
  const side = attackerIn(plainMount)
  const { target, ask, browserOf, codeFor, expectRefused, introspect, nativeTokens } = side
  const { own, redeem, refresh, guarded, person, revoke, standing } = side
  const { table, tokensFor, userinfo, expectInactive, expectDone, expectNotRevoked } = side

  describe('by a client that is not authenticated', () => {
    test('is neither introspected nor revoked, with the same refusal as for an unknown token', async () => {
      const tokens = await tokensFor()
      for (const [asker, error] of [
        [{ client_secret: undefined }, 'invalid_client'],
        [{ client_secret: otherSecret }, 'invalid_client'],
        [withoutCredentials, 'invalid_request'],
      ] as [Asked, string][]) {
        for (const send of [introspect, revoke]) {
          const ofUnknown = comparable(await send(unknown, asker))
          for (const value of bothOf(tokens))
            expect(comparable(await expectRefused(() => send(value, asker), error))).toEqual(ofUnknown)
        }
      }
      for (const value of bothOf(await nativeTokens()))
        await expectRefused(() => introspect(value, native), 'invalid_client')
      expect(await standing(tokens)).toEqual(alive)
    })

    test('is not accepted as a credential, and a signed-in user does not help (RFC 6819 §4.4.1.8)', async () => {
      const tokens = await tokensFor()
      const headers = { Authorization: `Bearer ${tokens.access_token}` }
      const cross = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
      const form = { token: tokens.refresh_token }
      for (const path of ['/introspect', '/revoke']) {
        expectRefusal(await ask(path, form, headers), 'invalid_client')
        const posted = await browserOf().post(`${target().base}${path}`, form, cross)
        expectRefusal(posted, 'invalid_request')
      }
      expect(await standing(tokens)).toEqual(alive)
    })
  })

  describe('of another client', () => {
    test('looks the same as for an unknown token at introspection (RFC 7662 §2.1, §2.2 and §4)', async () => {
      const [tokens, ofNative] = [await tokensFor(), await nativeTokens()]
      const { access_token } = tokensOf(await own())
      const claims = hints.map((token_type_hint): Asked => ({ token_type_hint }))
      for (const more of [...claims, { owner: 'web', azp: 'web', audience: 'web' }])
        for (const value of [...bothOf(tokens), access_token])
          await expectInactive(value, { ...other, ...more })
      for (const value of bothOf(ofNative))
        for (const asker of [web, other]) await expectInactive(value, asker)
      expect(jsonOf(await introspect(tokens.access_token))).toMatchObject({ active: true })
    })

    test('is not revoked, and the answer hides that it exists (RFC 7009 §2.1, RFC 6819 §5.2.2.2)', async () => {
      const [tokens, ofNative] = [await tokensFor(), await nativeTokens()]
      for (const thief of [other, native])
        for (const value of bothOf(tokens))
          for (const token_type_hint of hints) await expectNotRevoked(value, { ...thief, token_type_hint })
      for (const thief of [web, mobile])
        for (const value of bothOf(ofNative)) await expectNotRevoked(value, thief)
      expect([await standing(tokens), await standing(ofNative, native)]).toEqual([alive, alive])
      const { access_token } = tokensOf(await own())
      await expectNotRevoked(access_token, other)
      expect((await userinfo(access_token)).status).toBe(403)
    })
  })

  test('is not found by a code, an ID token, a hash, a pattern or a changed token', async () => {
    const [tokens, code] = [await tokensFor(), await codeFor()]
    const hashes = bothOf(tokens).map(hashSecret)
    const prefixed = hashes.flatMap((hash) => [`lk_at_${hash}`, `lk_rt_${hash}`])
    const changed = bothOf(tokens).flatMap((value) => [
      value.slice(0, -1),
      `${value}A`,
      value.toUpperCase(),
      `${value} `,
      value.replace(/lk_(.)t_/, (_, kind) => `lk_${kind === 'a' ? 'r' : 'a'}t_`),
    ])
    const patterns = ['%', 'lk_rt_%', "' OR '1'='1", '__proto__', 'lk_rt_', ' ', 'web']
    for (const value of [code, tokens.id_token, secret, ...hashes, ...prefixed, ...changed, ...patterns]) {
      await expectNotRevoked(value)
      await expectInactive(value)
    }
    expect(await standing(tokens)).toEqual(alive)
    expect((await redeem(code)).status).toBe(200)
  })

  describe('that is introspected', () => {
    test('is inactive once it was used, even within the grace period', async () => {
      stopClock()
      const { refresh_token } = await tokensFor()
      const next = tokensOf(await refresh(refresh_token))
      await expectInactive(refresh_token)
      expect(jsonOf(await introspect(next.refresh_token))).toMatchObject({ active: true })
    })

    test('has only members of RFC 7662 §2.2, no token_type for a refresh token, and is not cached', async () => {
      const tokens = await tokensFor({ scope: 'openid email notes:read' })
      const answer = await introspect(tokens.access_token)
      const names = 'active auth_time client_id exp iat iss scope sub token_type username'.split(' ')
      expect(Object.keys(jsonOf(answer)).sort()).toEqual(names)
      expect(jsonOf(answer).iss).toBe(target().issuer)
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers).not.toHaveProperty('etag')
      const ofRefresh = Object.keys(jsonOf(await introspect(tokens.refresh_token)))
      expect(names.filter((name) => name !== 'token_type')).toEqual(expect.arrayContaining(ofRefresh))
    })
  })

  describe('that is revoked: the revocation holds', () => {
    test('of the refresh token: everything of the family ends, and nothing beside it (RFC 7009 §2.1)', async () => {
      const [first, bystander] = [await tokensFor(), await tokensFor()]
      const second = tokensOf(await refresh(first.refresh_token))
      expectDone(await revoke(second.refresh_token))
      expect(await standing(second)).toEqual(dead)
      expect((await userinfo(first.access_token)).status).toBe(401)
      expect(await standing(bystander)).toEqual(alive)
    })

    test('by a refresh token that a thief has used up (RFC 9700 §4.14.2)', async () => {
      const clock = stopClock()
      const first = await tokensFor()
      const stolen = tokensOf(await refresh(first.refresh_token))
      clock.travel(60)
      expectDone(await revoke(first.refresh_token))
      expect(await standing(stolen)).toEqual(dead)
    })

    test('with the wrong hint, and of a public client that sends only its name (RFC 7009 §2.1)', async () => {
      const [tokens, ofNative] = [await tokensFor(), await nativeTokens()]
      expectDone(await revoke(tokens.refresh_token, { token_type_hint: 'access_token' }))
      expect(await standing(tokens)).toEqual(dead)
      expectDone(await revoke(ofNative.refresh_token, native))
      expect(await standing(ofNative, native)).toEqual(dead)
    })

    test('within the grace period in which a lost answer is repeated (RFC 9700 §4.14.2)', async () => {
      stopClock()
      const first = await tokensFor()
      const second = tokensOf(await refresh(first.refresh_token))
      expectDone(await revoke(second.refresh_token))
      for (const value of [first.refresh_token, second.refresh_token])
        expectRefusal(await refresh(value), 'invalid_grant')
    })

    test('against refreshes at the same moment, in any order (CVE-2026-53517)', async () => {
      const tokens = await tokensFor()
      const refreshes = Array.from({ length: 6 }, () => refresh(tokens.refresh_token))
      const [done, ...answers] = await Promise.all([revoke(tokens.refresh_token), ...refreshes])
      expectDone(done)
      for (const answer of answers.filter(({ status }) => status === 200))
        expect(await standing(tokensOf(answer))).toEqual(dead)
      expect(await standing(tokens)).toEqual(dead)
    })

    test('of an access token: that one alone ends', async () => {
      const tokens = await tokensFor()
      expectDone(await revoke(tokens.access_token))
      expect(await standing(tokens)).toEqual({ access: 401, refresh: 200 })
    })

    test.each(['access_token', 'refresh_token'] as const)(
      'of one %s: no success is reported while the database fails',
      async (kind) => {
        const { knex, tablePrefix } = target().host.database
        const tokens = await tokensFor()
        await knex.schema.renameTable(`${tablePrefix}${kind}s`, `${tablePrefix}away`)
        const answer = await revoke(tokens[kind])
        await knex.schema.renameTable(`${tablePrefix}away`, `${tablePrefix}${kind}s`)
        expectRefusal(answer, 'temporarily_unavailable')
        expect(answer.headers['retry-after']).toBe('1')
        expect(await standing(tokens)).toEqual(alive)
      },
    )
  })

  describe('whose grant has ended', () => {
    const otherClient = () => table('clients').where({ client_id: 'other' })
    const granted = { subject: String(bob.id), client_id: 'other' }
    let row: Record<string, unknown> = {}

    const endings: Ending[] = [
      {
        event: 'the user is disabled (ASVS 7.4.2, CVE-2026-43983, CVE-2023-22492)',
        end: () => person(bob).update({ disabled_at: 1 }),
        undo: () => person(bob).update({ disabled_at: null }),
      },
      {
        event: 'the user is deleted (ASVS 7.4.2)',
        end: async () => {
          row = await person(bob).first()
          await person(bob).delete()
        },
        undo: () => person(bob).insert(row),
      },
      {
        event: 'the password was changed (ASVS 7.4.3)',
        end: () => target().host.oauth.users.revokeAll(bob.id),
      },
      {
        event: 'the user signed out (ASVS 7.4.1)',
        end: async () =>
          browserOf(bob).submit(await browserOf(bob).open(`${target().base}/logout`), 'name="csrf_token"'),
        sparesOffline: true,
      },
      {
        event: 'the client is disabled (CVE-2024-47000)',
        end: () => otherClient().update({ disabled_at: 1 }),
        undo: () => otherClient().update({ disabled_at: null }),
        client: other,
        error: 'invalid_client',
      },
      {
        event: 'the client is deleted (CVE-2024-47000)',
        end: async () => {
          row = await otherClient().first()
          await otherClient().delete()
        },
        undo: () => otherClient().insert(row),
        client: other,
        error: 'invalid_client',
      },
      {
        event: 'the client was removed from the account (CVE-2026-43983)',
        // The rows that the removal of a client changes.
        end: async () => {
          expect(await table('consents').where(granted).delete()).toBe(1)
          await table('authorizations').where(granted).update({ revoked_at: 1 })
        },
        client: other,
      },
    ]

    test.each(endings)('is refused like an unknown one when $event', async (ending) => {
      const { end, undo, client = web, error = 'invalid_grant', sparesOffline } = ending
      const scope = 'openid notes:read'
      const asked = { client_id: client.client_id, scope }
      const [code, tokens] = [await codeFor(asked, bob), await tokensFor(asked, client, bob)]
      const offline = await tokensFor({ ...asked, scope: `${scope} offline_access` }, client, bob)
      await end()
      try {
        expectRefusal(await redeem(code, client), error)
        expectRefusal(await refresh(tokens.refresh_token, client), error)
        for (const use of [userinfo, guarded]) {
          const refused = await use(tokens.access_token)
          expectRefusal(refused, 'invalid_token')
          expect(comparable(refused)).toEqual(comparable(await use(unknown)))
          expect((await use(offline.access_token)).status).toBe(sparesOffline ? 200 : 401)
        }
        for (const value of bothOf(tokens)) {
          const told = await introspect(value, client)
          if (error === 'invalid_grant') expect(told.html).toBe('{"active":false}')
          else expectRefusal(told, error)
        }
      } finally {
        await undo?.()
      }
      expect(await standing(tokens, client)).toEqual(undo ? alive : dead)
      expect(await standing(offline, client)).toEqual(undo || sparesOffline ? alive : dead)
      expect((await redeem(code, client)).status).toBe(undo ? 200 : 400)
    })
  })
})

describe.each(mounts)('a token, mounted $name', (mount) => {
  const { target, ask, expectRefused, standing, tokensFor } = attackerIn(mount)

  test.each(['/introspect', '/revoke'])(
    'that is missing, too long, in the address or sent otherwise is refused at %s and lives on',
    async (path) => {
      const tokens = await tokensFor()
      const token = tokens.refresh_token
      const query = `${path}?${new URLSearchParams({ token, ...web })}`
      const json = JSON.stringify({ token, ...web })
      const refusals: [number, () => Promise<Answer>][] = [
        [405, () => target().get(target().base + query)],
        [405, () => target().get(`${target().base}${path}?callback=x&token=${token}`)],
        [400, () => ask(query, {})],
        [400, () => ask(`${path}?token=${token}`, web)],
        [415, () => ask(path, json, { 'Content-Type': 'application/json' })],
        ...[undefined, '', `${token}\0`, token.padEnd(16_385, 'A')].map(
          (sent): [number, () => Promise<Answer>] => [400, () => ask(path, { ...web, token: sent })],
        ),
      ]
      for (const [status, send] of refusals) await expectRefused(send, 'invalid_request', status)
      expect(await standing(tokens)).toEqual(alive)
    },
  )
})
