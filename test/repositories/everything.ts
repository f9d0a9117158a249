import supertest from 'supertest'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { removeExpiredRows } from '../../lib/storage/repositories/pruning/schedule.ts'
import { operationNames, operationsAt } from '../support/counted-operations.ts'
import { expired } from '../support/features.ts'
import { authorizeUrl, callback, type Host } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { files, introspectAs, notes, tokensOf } from '../support/resource-host.ts'
import { answerOf, introspect, redeem, revoke } from '../support/tokens.ts'

/** A client that registers itself, changes its registration and removes it, where this is on. */
const registrationAt = async (app: Host['app']): Promise<void> => {
  const members = { redirect_uris: [callback], token_endpoint_auth_method: 'none' }
  const { status, body } = await supertest(app).post('/oauth/register').send(members)
  if (status === 404) return
  const { client_id, registration_access_token: token } = body
  const path = `/oauth/register/${client_id}`
  const authorized = { Authorization: `Bearer ${token}` }
  await supertest(app).get(path).set(authorized).expect(200)
  await supertest(app)
    .put(path)
    .set(authorized)
    .send({ ...members, client_id })
    .expect(200)
  await supertest(app).delete(path).set(authorized).expect(204)
}

/** Everything that clients, APIs, browsers, the host and pruning cause. */
export const everythingAt = async (host: Host): Promise<void> => {
  const { app, oauth, database } = host
  const operations = await operationsAt(host)
  for (const name of operationNames) await operations[name].run(await operations[name].before())
  for (const options of [{}, { user: 1 }, { client: 'web' }, { user: 1, client: 'web' }]) {
    await oauth.sessions.list(options)
    await oauth.authorizations.list(options)
  }
  const browser = new RawBrowser(app)
  await browser.submit(await browser.open(authorizeUrl({ client_id: 'web' })), 'name="password"', {
    username: 'nobody',
    password: 'nothing',
  })
  const scope = 'openid offline_access'
  const code = codeOf(await browser.grant(authorizeUrl({ client_id: 'web', scope, prompt: 'consent' })))
  const { refresh_token, access_token, id_token } = await answerOf(redeem(host, code))
  for (const token of [refresh_token, access_token]) {
    await introspect(host, token).expect(200)
    await revoke(host, token).expect(200)
  }
  const { html } = await browser.open('/oauth/account')
  const [, removal = ''] = html.match(/button secondary" href="([^"]+)"/) ?? []
  await browser.submit(await browser.open(removal), 'csrf_token')
  await browser.submit(await browser.open('/oauth/logout'), 'csrf_token')
  await browser.open(`/oauth/logout?id_token_hint=${id_token}`)
  for (const resource of [notes, files]) {
    const tokens = await tokensOf(host, [resource], { scope: 'openid notes:read files:read' })
    await introspectAs(host, 'notes-api', tokens.access_token)
  }
  await registrationAt(app)
  await oauth.clients.create({ client_id: 'removed', redirect_uris: [callback] })
  await oauth.clients.disable('removed')
  await oauth.clients.enable('removed')
  await oauth.clients.update('removed', { client_name: 'Renamed' })
  await oauth.clients.delete('removed')
  await oauth.users.export(1)
  await oauth.users.revokeAll(1)
  await oauth.users.erase(1)
  await operationsAt(host)
  await removeExpiredRows(openDatabase(database.knex, database.tablePrefix).database, {
    now: Math.floor(Date.now() / 1000) + 10 ** 9,
    expired,
    refreshGracePeriod: 10,
  })
}
