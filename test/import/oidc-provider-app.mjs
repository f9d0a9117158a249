// oidc-provider with an adapter for Knex, in the database of its argument: it stores clients and refresh tokens as the
// provider writes them, and prints what the clients know as JSON. The table is that of the adapter for Knex which the
// repository of oidc-provider contained: example/adapters/contributed/knex.js.

import knex from 'knex'
import { Provider } from 'oidc-provider'

const url = process.argv[2]
const database = knex({ client: url.startsWith('postgres') ? 'pg' : 'mysql2', connection: url })
const models = 'Session AccessToken AuthorizationCode RefreshToken DeviceCode ClientCredentials Client'.split(
  ' ',
)

await database.schema.createTable('oidc_payloads', (table) => {
  table.string('id').notNullable()
  table.integer('type').notNullable()
  table.json('payload')
  table.string('grantId')
  table.string('userCode')
  table.string('uid')
  table.timestamp('expiresAt').nullable()
  table.timestamp('consumedAt').nullable()
  table.primary(['id', 'type'])
})

class Adapter {
  constructor(model) {
    this.type = models.indexOf(model) + 1 || 20
  }
  async upsert(id, payload, expiresIn) {
    const expiresAt = expiresIn ? new Date(Date.now() + expiresIn * 1000) : null
    const row = {
      id,
      type: this.type,
      payload: JSON.stringify(payload),
      grantId: payload.grantId ?? null,
      expiresAt,
    }
    await database('oidc_payloads').insert(row).onConflict(['id', 'type']).merge()
  }
  async find(id) {
    const row = await database('oidc_payloads').where({ id, type: this.type }).first()
    return typeof row?.payload === 'string' ? JSON.parse(row.payload) : row?.payload
  }
  async consume(id) {
    await database('oidc_payloads').where({ id, type: this.type }).update({ consumedAt: new Date() })
  }
}

const provider = new Provider('http://localhost:3001', {
  adapter: Adapter,
  scopes: ['openid', 'offline_access', 'read'],
  subjectTypes: ['public', 'pairwise'],
  features: { devInteractions: { enabled: false } },
  ttl: { Grant: 86_400, RefreshToken: 86_400 },
})
const secret = 'Zk4Rq9vX2bN7mYt5Ws8Lc3Hd6Jf1GpQaZk4R'
const answer = {}

const register = async (client_id, metadata) => {
  const payload = {
    client_id,
    client_secret: secret,
    redirect_uris: [`https://${client_id}.example.com/cb`],
    ...metadata,
  }
  await new Adapter('Client').upsert(client_id, payload)
  answer[client_id] = { client_id, client_secret: payload.client_secret }
  return provider.Client.find(client_id)
}

const issue = async (client, more = {}) => {
  const grant = new provider.Grant({ accountId: '1', clientId: client.clientId })
  grant.addOIDCScope('openid offline_access read')
  const grantId = await grant.save()
  const about = {
    accountId: '1',
    client,
    grantId,
    gty: 'authorization_code',
    authTime: 1_700_000_000,
    ...more,
  }
  const token = new provider.RefreshToken({ scope: 'openid offline_access read', ...about })
  return { token, value: await token.save() }
}

const refreshing = { grant_types: ['authorization_code', 'refresh_token'] }
const web = await register('web', { ...refreshing, client_name: 'Web', scope: 'openid offline_access read' })
answer.web.refresh_token = (await issue(web)).value
const used = await issue(web)
await used.token.consume()
answer.web.used = used.value
await issue(web, { expiresWithSession: true, sessionUid: 'a-session' })
await issue(web, { jkt: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs' })
await register('post', {
  ...refreshing,
  token_endpoint_auth_method: 'client_secret_post',
  require_auth_time: true,
})
await register('phone', { token_endpoint_auth_method: 'none', client_secret: undefined })
await register('pairwise', { subject_type: 'pairwise' })
await register('short', { client_secret: 'secret' })
await database.destroy()
console.log(JSON.stringify(answer))
