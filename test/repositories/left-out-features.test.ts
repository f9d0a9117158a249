import { authenticatorApps, device, passkeys, personalAccessTokens } from '../../lib/features/index.ts'
import { authRouter, type Feature } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { type DatabaseKind, describeOnSampled, openFaultDatabase } from '../support/fault-databases.ts'
import { expiredIn } from '../support/features.ts'

describeOnSampled('a feature that leaves the list', (kind: DatabaseKind) => {
  const { knex, table, tablePrefix, close } = openFaultDatabase(kind)
  const silent = { info: () => {}, warn: () => {}, error: () => {} }
  const start = async (features: readonly Feature[]) => {
    const oauth = authRouter({
      issuer: 'http://localhost:3000/oauth',
      database: { knex, tablePrefix, prune: false },
      secrets: ['a secret of the tests that is long enough'],
      scopes: { notes: 'Read your notes' },
      logger: silent,
      features,
    })
    await oauth.ready().finally(() => oauth.close())
    return oauth
  }
  const tokens = () => table('personal_tokens')
  beforeAll(async () => {
    await start([personalAccessTokens()])
    const row = { subject: '1', name: 'Script', scopes: 'notes', created_at: 1, last_used_at: null }
    await tokens().insert({ hash: 'h', id: 'i', slot: 0, ...row, expires_at: 2 })
  })
  afterAll(close)

  test('a new database has the tables of the listed features only', async () => {
    const has = (name: string) => knex.schema.hasTable(`${tablePrefix}${name}`)
    expect([await has('personal_tokens'), await has('passkeys'), await has('device_codes')]).toEqual([
      true,
      false,
      false,
    ])
  })

  test('the start refuses while it has rows, with the line that keeps them', async () => {
    await expect(start([device()])).rejects.toThrow('features: [personalAccessTokens.off()]')
    expect(await tokens()).toHaveLength(1)
  })

  test('off() keeps export, erase and prune, and adds nothing', async () => {
    const oauth = await start([passkeys(), personalAccessTokens.off()])
    expect(serverBehind(oauth)!.endpoints.map(({ path }) => path)).not.toContain('/account/tokens')
    const again = authRouter({
      database: { knex, tablePrefix, prune: false },
      secrets: ['a secret of the tests that is long enough'],
      logger: silent,
      features: [passkeys(), personalAccessTokens.off()],
    })
    expect(await again.users.export('1')).toMatchObject({ personalTokens: [{ name: 'Script' }] })
    const { database } = serverBehind(again)!
    const now = 90 * 86_400
    await removeExpiredRows(database, { now, expired: expiredIn(again), refreshGracePeriod: 0 })
    expect(await tokens()).toHaveLength(0)
    await tokens().insert({
      hash: 'h',
      id: 'i',
      slot: 0,
      subject: '1',
      name: 'S',
      scopes: 'notes',
      created_at: 1,
      expires_at: now,
    })
    await again.users.erase('1')
    expect(await tokens()).toHaveLength(0)
    await again.close()
  })

  test('the start names each function that has the tables', async () => {
    await start([authenticatorApps()])
    await table('second_factors').insert({ subject: '1', secret: 's', created_at: 1 })
    await expect(start([])).rejects.toThrow('lacks authenticatorApps() or secondFactor(); list it')
    await table('second_factors').delete()
  })

  test('without rows the start goes on', async () => {
    await expect(start([])).resolves.toBeDefined()
  })
})
