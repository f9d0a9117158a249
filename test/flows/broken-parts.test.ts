import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import supertest from 'supertest'
import { registration } from '../../lib/features/index.ts'
import { type AuthRouterOptions, OAuthError } from '../../lib/index.ts'
import { type Host, startHost } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { tokensFor } from '../support/tokens.ts'

// What test/faults/broken-host.test.ts tries with every part of a host, in this process.

/** What no header can contain. */
const strange = 'schlüssel ☃ "quoted"\r\nx-injected: yes'
const refusal = () =>
  new OAuthError('invalid_token', strange, { status: 401, headers: { 'x-reason': strange } })

const logged: unknown[][] = []
const log = (...words: unknown[]): void => void logged.push(words)
const withHost = async (options: Partial<AuthRouterOptions>, work: (host: Host) => Promise<void>) => {
  logged.length = 0
  const host = await startHost({ options: { logger: { info: () => {}, warn: log, error: log }, ...options } })
  try {
    await work(host)
  } finally {
    await host.close()
  }
}

test('a built-in page replaces one whose template fails, and the log has the error once', async () => {
  const views = mkdtempSync(join(tmpdir(), 'latchkey-views-'))
  writeFileSync(join(views, 'error.eta'), '<%= it.model.client.name %>')
  await withHost({ pages: { views } }, async ({ app }) => {
    for (const path of ['/oauth/authorize', '/oauth/authorize?client_id=none'])
      expectErrorPage(await new RawBrowser(app).get(path), 400)
    const said = logged.filter(([line]) => String(line).includes('pages.views failed at the page error'))
    expect(said).toHaveLength(1)
  })
  rmSync(views, { recursive: true })
})

test('an OAuthError of users.find is no answer to a client, whatever it says', async () => {
  let fails = false
  const find = () => {
    if (fails) throw refusal()
    return { id: 1 }
  }
  const users = { find, authenticate: find }
  await withHost({ users }, async (host) => {
    const { access_token } = await tokensFor(host)
    fails = true
    for (const path of ['/oauth/userinfo', '/api/notes']) {
      const { status, body, headers } = await supertest(host.app)
        .get(path)
        .set('Authorization', `Bearer ${access_token}`)
      expect([status, body.error, headers['www-authenticate']]).toEqual([500, 'server_error', undefined])
    }
  })
})

test('an OAuthError of initialAccessToken is a server error', async () => {
  const initialAccessToken = () => Promise.reject(refusal())
  await withHost({ features: [registration({ initialAccessToken })] }, async ({ app }) => {
    const { status, body } = await supertest(app)
      .post('/oauth/register')
      .set('Authorization', 'Bearer initial')
      .send({ redirect_uris: ['https://client.example.com/callback'] })
    expect([status, body.error]).toEqual([500, 'server_error'])
  })
})

test('headers of an OAuthError that no answer can have make it a server error', async () => {
  const allow = () => Promise.reject(refusal())
  await withHost({ features: [registration({ allow })] }, async ({ app }) => {
    const { status, body } = await supertest(app)
      .post('/oauth/register')
      .send({ redirect_uris: ['https://client.example.com/callback'] })
    expect([status, body]).toEqual([500, expect.objectContaining({ error: 'server_error' })])
    expect(logged).toContainEqual([expect.stringContaining('Invalid character'), expect.anything()])
  })
})
