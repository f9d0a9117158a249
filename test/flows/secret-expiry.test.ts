import supertest from 'supertest'
import { seedClients } from '../../lib/index.ts'
import { stopClock } from '../support/clock.ts'
import { callback, type Host, secret, startHost } from '../support/host.ts'

const clock = stopClock()
const seed = (expires?: number) => ({
  ...{ client_id: 'shop', client_secret: secret, redirect_uris: [callback], scope: 'notes:read' },
  grant_types: ['authorization_code' as const, 'client_credentials' as const],
  ...(expires !== undefined && { client_secret_expires_at: expires }),
})

let host: Host
beforeEach(async () => {
  const policy = () => ({ client_secret_expires_at: clock.now() + 60 })
  const options = { features: { registration: { policy } } }
  host = await startHost({ clients: [seed(clock.now() + 60)], options })
})
afterEach(() => host.close())

const asks = async (client_secret = secret, byHeader = false) => {
  const request = supertest(host.app).post('/oauth/token').type('form')
  if (byHeader) request.auth('shop', client_secret)
  const form = { grant_type: 'client_credentials', ...(!byHeader && { client_id: 'shop', client_secret }) }
  const { status, body, headers } = await request.send(form)
  return { status, error: body.error_description, challenge: headers['www-authenticate'] }
}
const works = { status: 200, error: undefined, challenge: undefined }
const expired = { status: 401, error: 'client_secret is expired', challenge: undefined }
const wrong = { ...expired, error: 'client authentication failed' }

test('a secret works until it expires; then its holder learns why, and the host gets an event', async () => {
  const refused: unknown[] = []
  host.oauth.events.on('client.refused', ({ clientId, endpoint, reason }) => {
    refused.push({ clientId, endpoint, reason })
  })
  clock.travel(59)
  expect(await asks()).toEqual(works)
  clock.travel(1)
  expect(await asks()).toEqual(expired)
  expect(await asks(secret, true)).toMatchObject({ ...expired, challenge: expect.stringMatching(/^Basic/) })
  expect(await asks('w'.repeat(43))).toEqual(wrong)
  const about = { clientId: 'shop', endpoint: 'token' }
  expect(refused).toEqual([
    { ...about, reason: 'secret_expired' },
    { ...about, reason: 'secret_expired' },
    { ...about, reason: undefined },
  ])
})

test('a rotation gives a secret that lasts, and does not revive or prolong the old one', async () => {
  const first = await host.oauth.clients.rotateSecret('shop', { keepPreviousFor: 3600, expiresIn: 120 })
  expect(first).toMatchObject({
    previous_secret_expires_at: clock.now() + 60,
    client_secret_expires_at: clock.now() + 120,
  })
  clock.travel(60)
  expect(await asks(first.client_secret)).toEqual(works)
  expect(await asks()).toEqual(wrong)
  clock.travel(60)
  expect(await asks(first.client_secret)).toEqual(expired)
  const second = await host.oauth.clients.rotateSecret('shop')
  expect(second).not.toHaveProperty('client_secret_expires_at')
  expect(await asks(first.client_secret)).toEqual(wrong)
  clock.travel(10 ** 7)
  expect(await asks(second.client_secret)).toEqual(works)
  await expect(host.oauth.clients.rotateSecret('shop', { expiresIn: 0 })).rejects.toThrow(TypeError)
})

test('a seed or update changes the time, and keeps the secret', async () => {
  const { knex, tablePrefix } = host.database
  const options = { tablePrefix, scopes: { 'notes:read': 'Read your notes' } }
  clock.travel(60)
  await host.oauth.clients.update('shop', { client_name: 'Shop' })
  expect(await asks()).toEqual(expired)
  await host.oauth.clients.update('shop', { client_secret_expires_at: null })
  expect(await asks()).toEqual(works)
  await seedClients(knex, [seed(clock.now())], options)
  expect(await asks()).toEqual(expired)
  await seedClients(knex, [seed(0)], options)
  expect(await asks()).toEqual(works)
})

test('a policy for registrations gives secrets a time, which the client is told', async () => {
  const members = { redirect_uris: [callback], client_secret_expires_at: 0 }
  const { body } = await supertest(host.app).post('/oauth/register').send(members)
  expect(body).toMatchObject({ client_secret_expires_at: clock.now() + 60 })
})
