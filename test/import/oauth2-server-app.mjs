// node-oauth2-server with a model for Knex, in the database of its argument: it redeems a code with the package itself, and
// prints what the clients know as JSON. The tables are those of the example for PostgreSQL which the repository of
// oauth2-server contained, with the columns that its model reads: examples/postgresql.

import OAuth2Server from '@node-oauth/oauth2-server'
import knex from 'knex'

const url = process.argv[2]
const database = knex({ client: url.startsWith('postgres') ? 'pg' : 'mysql2', connection: url })

await database.schema.createTable('oauth_clients', (table) => {
  table.string('client_id').notNullable()
  table.string('client_secret').notNullable()
  table.text('redirect_uri').notNullable()
  table.text('grants')
  table.primary(['client_id', 'client_secret'])
})
await database.schema.createTable('oauth_refresh_tokens', (table) => {
  table.string('refresh_token').primary()
  table.string('client_id').notNullable()
  table.string('user_id').notNullable()
  table.text('scope')
  table.timestamp('expires', { useTz: false }).notNullable()
})

const secret = 'Hf3Kq8vX2bN7mYt5Ws9Lc4Zd6Jr1GpQaHf3K'
const add = async (client_id, redirect_uri, grants, client_secret = secret) => {
  await database('oauth_clients').insert({ client_id, client_secret, redirect_uri, grants })
  return { client_id, client_secret }
}
const answer = {
  shop: await add('shop', 'https://shop.example.com/cb', 'authorization_code,refresh_token'),
  legacy: await add('legacy', 'https://legacy.example.com/cb', '["password","refresh_token"]'),
  phone: await add('phone', 'com.example.phone:/cb', 'authorization_code', ''),
}

const client = { id: 'shop', grants: ['authorization_code', 'refresh_token'] }
const inAnHour = new Date(Date.now() + 3_600_000)
const utc = (date) => date.toISOString().slice(0, 19).replace('T', ' ')
const model = {
  getClient: () => client,
  getAuthorizationCode: () => ({
    code: 'code',
    expiresAt: inAnHour,
    client,
    user: { id: '1' },
    scope: ['read'],
  }),
  revokeAuthorizationCode: () => true,
  saveToken: async (token, of, user) => {
    const { refreshToken: refresh_token, refreshTokenExpiresAt, scope } = token
    const row = { refresh_token, client_id: of.id, user_id: user.id, scope: scope.join(' ') }
    await database('oauth_refresh_tokens').insert({ ...row, expires: utc(refreshTokenExpiresAt) })
    return { ...token, client: of, user }
  },
}
const redeem = async (options) => {
  const body = { grant_type: 'authorization_code', code: 'code', client_id: 'shop', client_secret: secret }
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' }
  const request = new OAuth2Server.Request({ method: 'POST', query: {}, headers, body })
  return (await new OAuth2Server({ model }).token(request, new OAuth2Server.Response(), options)).refreshToken
}
answer.shop.refresh_token = await redeem({})
await redeem({ refreshTokenLifetime: -1 })
await database.destroy()
console.log(JSON.stringify(answer))
