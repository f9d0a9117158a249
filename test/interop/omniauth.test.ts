// OmniAuth, in Ruby, as middleware of a Rack app: discovery, the code flow, the user of the ID token and of UserInfo,
// and the link by which users sign out.

import { join } from 'node:path'
import { callback, secret } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'
import { type StockProgram, startProgram } from './stock-program.ts'

const home = 'https://client.example.com/'

describeWith('omniauth', 'OmniAuth', () => {
  let provider: Provider
  let program: StockProgram | undefined
  beforeAll(async () => {
    const scope = 'openid profile email'
    const client = { client_id: 'app', client_secret: secret, scope, redirect_uris: [callback] }
    provider = await startProvider({ clients: [{ ...client, post_logout_redirect_uris: [home] }] })
  })
  afterAll(async () => {
    program?.stop()
    await provider?.close()
  })

  test('signs a user in, and sends the user to a page that signs out', async () => {
    program = startProgram(services.omniauth, [join(__dirname, 'omniauth-client.rb')])
    const browser = provider.browser()
    const url = await program.say({
      issuer: provider.issuer,
      client_id: 'app',
      client_secret: secret,
      redirect_uri: callback,
      post_logout_redirect_uri: home,
    })
    const back = await answer(browser, String(url))
    const answered = (await program.say(back.href)) as { sign_out: string }
    expect(answered).toMatchObject({
      subject: '1',
      info: { name: ada.full_name, email: ada.email, email_verified: true },
      userinfo: { sub: '1', aud: 'app', name: ada.full_name },
    })
    const page = await browser.open(answered.sign_out)
    expect(page.status).toBe(200)
    const signedOut = await browser.submit(page, 'logout')
    expect(signedOut.status).toBe(200)
    const later = await browser.open(String(url))
    expect(later.url.pathname).toMatch(/\/login$/)
  })
})
