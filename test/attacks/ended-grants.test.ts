import {
  type Asked,
  alive,
  apiSide,
  comparable,
  dead,
  expectRefusal,
  other,
  rivals,
  web,
} from '../support/api-side.ts'
import { underAttack } from '../support/target.ts'
import { bob } from '../support/tokens.ts'

const unknown = `lk_at_${'A'.repeat(43)}`

/** Something that ends, or suspends, what a user has granted to a client. */
interface Ending {
  readonly event: string
  readonly end: () => Promise<unknown>
  /** Reverses it; what was only suspended then works again, because no attempt used it up. */
  readonly undo?: () => Promise<unknown>
  readonly client?: Asked
  /** The refusal of `/token`. @default 400 invalid_grant */
  readonly refusal?: readonly [number, string]
  readonly sparesOffline?: boolean
}

underAttack(
  'what a user granted',
  (target, { test }) => {
    const side = apiSide(target)
    const { browserOf, codeFor, guarded, introspect, person, redeem, refresh } = side
    const { standing, table, tokensFor, userinfo } = side
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
        refusal: [401, 'invalid_client'],
      },
      {
        event: 'the client is deleted (CVE-2024-47000)',
        end: async () => {
          row = await otherClient().first()
          await otherClient().delete()
        },
        undo: () => otherClient().insert(row),
        client: other,
        refusal: [401, 'invalid_client'],
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

    test.each(endings)('ends as for unknown values when $event', async (ending) => {
      const { end, undo, client = web, refusal = [400, 'invalid_grant'], sparesOffline } = ending
      const scope = 'openid notes:read'
      const asked = { client_id: client.client_id, scope }
      const [code, tokens] = [await codeFor(asked, bob), await tokensFor(asked, client, bob)]
      const offline = await tokensFor({ ...asked, scope: `${scope} offline_access` }, client, bob)
      await end()
      try {
        expectRefusal(await redeem(code, client), ...refusal)
        expectRefusal(await refresh(tokens.refresh_token, client), ...refusal)
        for (const ask of [userinfo, guarded]) {
          const refused = await ask(tokens.access_token)
          expectRefusal(refused, 401, 'invalid_token')
          expect(comparable(refused)).toEqual(comparable(await ask(unknown)))
          expect((await ask(offline.access_token)).status).toBe(sparesOffline ? 200 : 401)
        }
        for (const value of [tokens.access_token, tokens.refresh_token]) {
          const told = await introspect(value, client)
          if (refusal[0] === 400) expect(told.html).toBe('{"active":false}')
          else expectRefusal(told, ...refusal)
        }
      } finally {
        await undo?.()
      }
      expect(await standing(tokens, client)).toEqual(undo ? alive : dead)
      expect(await standing(offline, client)).toEqual(undo || sparesOffline ? alive : dead)
      expect((await redeem(code, client)).status).toBe(undo ? 200 : 400)
    })
  },
  () => ({ clients: rivals }),
)
