// An error page is JSON for a program that asks for it, with no more than the page shows.
import request from 'supertest'
import { authorizeUrl, callback, type Host, startHost } from '../support/host.ts'

const environment = process.env.NODE_ENV
let host: Host
const start = async (rules: string) => {
  process.env.NODE_ENV = rules
  host = await startHost()
}
afterEach(async () => {
  process.env.NODE_ENV = environment
  await host.close()
})

const unregistered = authorizeUrl({ client_id: 'web', redirect_uri: 'https://evil.example/callback' })
const answerTo = (accept: string) => request(host.app).get(unregistered).set('Accept', accept)

test('in development a program learns the reason', async () => {
  await start('development')
  const { status, body, headers } = await answerTo('application/json')
  expect(status).toBe(400)
  expect(headers['cache-control']).toBe('no-store')
  expect(body).toEqual({
    error: 'invalid_request',
    error_description: expect.stringContaining('redirect_uri'),
    reason: 'redirect_uri_unregistered',
    error_id: expect.stringMatching(/^[0-9A-F-]{12}$/),
  })
})

test('in production it learns as little as a visitor', async () => {
  await start('production')
  const { status, body } = await answerTo('application/json')
  expect(status).toBe(400)
  expect(body).toEqual({ error: 'invalid_request', error_id: expect.any(String) })
})

test.each(['text/html,application/xhtml+xml,*/*;q=0.8', '*/*', 'application/json;q=0.5, text/html'])(
  'who accepts %s gets the page',
  async (accept) => {
    await start('development')
    expect((await answerTo(accept)).headers['content-type']).toMatch(/^text\/html/)
  },
)

test('an error for the client goes to the client, whatever the program accepts', async () => {
  await start('development')
  const wrong = authorizeUrl({ client_id: 'web', response_type: 'none' })
  const { headers } = await request(host.app).get(wrong).set('Accept', 'application/json')
  expect(headers.location).toMatch(new RegExp(`^${callback}\\?error=unsupported_response_type`))
})
