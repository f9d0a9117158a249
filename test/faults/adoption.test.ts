import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import type { AuthRouterOptions } from '../../lib/index.ts'
import {
  type DatabaseKind,
  describeOnSampledServer,
  type FaultDatabase,
  openFaultDatabase,
} from '../support/fault-databases.ts'
import { authorizeUrl, callback, createUsers, type Host, pkce, startHost } from '../support/host.ts'

// The host adopts a client while another process is about to write what it has read of it. On SQLite one transaction
// ends before the next begins.

/** Writes of this table that run: the row is locked, so they wait. */
const waiting: Readonly<Record<string, string>> = {
  PostgreSQL: "select 1 from pg_stat_activity where state = 'active' and query like ?",
  MariaDB: "select 1 from information_schema.processlist where command = 'Execute' and info like ?",
}

const features = [registration({ allow: () => true })]
const resource = 'https://notes.example.com/mcp'
const described = { client_name: 'Notes', redirect_uris: [callback], token_endpoint_auth_method: 'none' }

const adoptingOn = (kind: DatabaseKind): void => {
  let database: FaultDatabase
  let host: Host
  const hosts: Host[] = []
  const start = async (options: Partial<AuthRouterOptions>): Promise<void> => {
    host = await startHost({ database, options: { features, ...options } })
    hosts.push(host)
  }
  beforeAll(async () => {
    database = openFaultDatabase(kind)
    await createUsers(database, `${database.tablePrefix}people`)
    await start({})
  })
  afterAll(async () => {
    for (const { oauth } of hosts) await oauth.close()
    await database.close()
  })

  const register = async () =>
    (await supertest(host.app).post('/oauth/register').send(described).expect(201)).body

  /** Adopts a client as another process does, and commits when this request waits for it. */
  const adoptDuring = async <T>(clientId: string, send: () => PromiseLike<T>): Promise<T> => {
    const request = await database.knex.transaction(async (adopting) => {
      const [row] = await database
        .table('clients')
        .transacting(adopting)
        .where({ client_id: clientId })
        .forUpdate()
      const { self_described: _, scope_follows_resources: __, ...adopted } = JSON.parse(row.metadata)
      const metadata = JSON.stringify({ ...adopted, client_name: 'Verified', scope: 'openid' })
      await database
        .table('client_registrations')
        .transacting(adopting)
        .where({ client_id: clientId })
        .delete()
      await database
        .table('clients')
        .transacting(adopting)
        .where({ client_id: clientId })
        .update({ metadata })
      const answer = Promise.resolve(send())
      const isWaiting = async (): Promise<boolean> => {
        const found = await database.knex.raw(waiting[kind]!, [`update%${database.tablePrefix}clients%`])
        return (found.rows ?? found[0]).length > 0
      }
      while (!(await isWaiting()));
      return { answer }
    })
    return request.answer
  }

  test('a client that replaces its registration meanwhile does not undo it (M20)', async () => {
    const { client_id, registration_access_token: token } = await register()
    const { status } = await adoptDuring(client_id, () =>
      supertest(host.app)
        .put(`/oauth/register/${client_id}`)
        .set('Authorization', `Bearer ${token}`)
        .send({ ...described, client_id, client_name: 'Evil' }),
    )
    expect(status).toBe(401)
    const client = await host.oauth.clients.get(client_id)
    expect(client).toMatchObject({ client_name: 'Verified' })
    expect(client).not.toHaveProperty('self_described')
  })

  test('a request that renews its scopes meanwhile does not undo it (M20)', async () => {
    const { client_id } = await register()
    await start({ resources: { [resource]: { scopes: ['notes:read'] } } })
    const asked = { client_id, code_challenge: pkce().challenge, code_challenge_method: 'S256' }
    await adoptDuring(client_id, () => supertest(host.app).get(authorizeUrl(asked)))
    const client = await host.oauth.clients.get(client_id)
    expect(client).toMatchObject({ client_name: 'Verified', scope: 'openid' })
    expect(client).not.toHaveProperty('self_described')
  })
}

describeOnSampledServer('an adoption', adoptingOn)
