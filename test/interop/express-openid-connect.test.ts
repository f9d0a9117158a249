// express-openid-connect signs in by form_post, with a code or as by its defaults with an ID token, refreshes,
// and logs out at the provider.

import express, { type Express } from 'express'
import { auth, type ConfigParams, requiresAuth } from 'express-openid-connect'
import { secret } from '../support/host.ts'
import { locationOf } from '../support/raw-browser.ts'
import { ada } from '../support/tokens.ts'
import { startWebClient, type Visit, type WebClient, type WebClientPlace } from './web-client.ts'

const claims = { sub: '1', name: ada.full_name, email: ada.email, email_verified: true }

const app = ({ issuer, origin }: WebClientPlace, config: ConfigParams): Express =>
  express()
    .use(
      auth({
        issuerBaseURL: issuer,
        baseURL: origin,
        clientID: 'app',
        secret,
        authRequired: false,
        idpLogout: true,
        ...config,
      }),
    )
    .get('/', (req, res) => void res.json({ user: req.oidc.user ?? null }))
    .get('/userinfo', requiresAuth(), async (req, res) => void res.json(await req.oidc.fetchUserInfo()))
    .get('/refresh', requiresAuth(), async (req, res) => {
      const before = req.oidc.accessToken?.access_token
      const after = await req.oidc.accessToken?.refresh()
      res.json({ renewed: after !== undefined && after.access_token !== before, user: req.oidc.user })
    })

const jsonAt = async ({ atClient }: Visit, path: string): Promise<unknown> =>
  JSON.parse((await atClient.open(path)).html)

/** Through the client's /logout to the provider, and back to the client, without a question to the user. */
const logOut = async (client: WebClient, visit: Visit): Promise<void> => {
  const endSession = locationOf(await visit.atClient.open('/logout'))
  expect(endSession.searchParams.has('id_token_hint')).toBe(true)
  expect(locationOf(await visit.atProvider.open(endSession.href)).origin).toBe(client.origin)
  expect(await jsonAt(visit, '/')).toEqual({ user: null })
  const again = locationOf(await visit.atClient.open('/login'))
  expect((await visit.atProvider.open(again.href)).url.pathname).toContain('/login')
}

describe('express-openid-connect', () => {
  let client: WebClient
  // It says on the console that form_post wants https.
  beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation())
  afterEach(async () => {
    jest.restoreAllMocks()
    await client?.close()
  })

  test('response_type=code with form_post signs in, refreshes, reads UserInfo and logs out', async () => {
    const authorizationParams = {
      response_type: 'code' as const,
      response_mode: 'form_post' as const,
      max_age: 300,
    }
    client = await startWebClient({
      callback: '/callback',
      app: (place) => app(place, { authorizationParams, clientSecret: secret }),
    })
    const visit = await client.signIn('/login')
    expect(visit.by).toBe('form_post')
    expect(visit.request.searchParams.get('code_challenge_method')).toBe('S256')
    expect(JSON.parse(visit.page.html).user).toMatchObject({ ...claims, sid: expect.any(String) })
    expect(await jsonAt(visit, '/refresh')).toMatchObject({ renewed: true, user: claims })
    expect(await jsonAt(visit, '/userinfo')).toEqual(claims)
    await logOut(client, visit)
  })

  test('response_type=id_token, its default, where the host turned that on: signs in and logs out', async () => {
    client = await startWebClient({
      callback: '/callback',
      registration: { response_types: ['id_token'], grant_types: ['implicit'] },
      options: { protocol: { implicit: true } },
      app: (place) => app(place, {}),
    })
    const visit = await client.signIn('/login')
    expect(Object.fromEntries(visit.request.searchParams)).toMatchObject({
      response_type: 'id_token',
      response_mode: 'form_post',
    })
    expect(visit.by).toBe('form_post')
    expect(JSON.parse(visit.page.html).user).toMatchObject(claims)
    await logOut(client, visit)
  })

  test('Cancel comes back by form_post as well, and the client answers 400', async () => {
    const authorizationParams = { response_type: 'code' as const, response_mode: 'form_post' as const }
    client = await startWebClient({
      callback: '/callback',
      app: (place) => app(place, { authorizationParams, clientSecret: secret }),
    })
    const { page, by } = await client.signIn('/login', 'deny')
    expect(by).toBe('form_post')
    expect(page.status).toBe(400)
    expect(page.html).toContain('authorization response from the server is an error')
  })
})
