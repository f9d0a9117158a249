// mod_auth_openidc, the module of Apache: it guards a site, with the code flow, PKCE and UserInfo.

import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../support/fault-programs.ts'
import { freePort } from '../support/free-ports.ts'
import { secret } from '../support/host.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { describeWith, services } from '../support/services.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'

const apacheModules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'auth_openidc']
const answers = (origin: string): Promise<boolean> =>
  fetch(origin, { redirect: 'manual' }).then(
    () => true,
    () => false,
  )

describeWith('mod_auth_openidc', 'mod_auth_openidc', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-apache-'))
  let provider: Provider
  let apache: ChildProcess | undefined
  let site: string
  beforeAll(async () => {
    const port = await freePort()
    site = `http://localhost:${port}`
    const client = { client_id: 'site', client_secret: secret, scope: 'openid profile email' }
    provider = await startProvider({ clients: [{ ...client, redirect_uris: [`${site}/callback`] }] })
    chmodSync(folder, 0o755)
    writeFileSync(
      join(folder, 'apache.conf'),
      `${apacheModules.map((name) => `LoadModule ${name}_module ${services.mod_auth_openidc}/mod_${name}.so\n`).join('')}
      ServerName localhost
      Listen 127.0.0.1:${port}
      PidFile ${folder}/pid
      DefaultRuntimeDir ${folder}
      ErrorLog ${folder}/log
      User www-data
      Group www-data
      OIDCProviderMetadataURL ${provider.issuer}/.well-known/openid-configuration
      OIDCClientID site
      OIDCClientSecret ${secret}
      OIDCRedirectURI ${site}/callback
      OIDCScope "openid profile email"
      OIDCPKCEMethod S256
      OIDCCryptoPassphrase a-passphrase-of-the-tests
      OIDCInfoHook id_token userinfo
      <Location />
        AuthType openid-connect
        Require valid-user
      </Location>`,
    )
    apache = spawn('apache2', ['-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND'])
    await until('Apache answers', () => answers(site))
  })
  afterAll(async () => {
    if (apache?.kill()) await new Promise((resolve) => apache?.once('exit', resolve))
    await provider?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('lets a user in who signed in', async () => {
    const atSite = new RawBrowser(site, site)
    // It answers 401 to requests that do not accept HTML.
    const back = await answer(
      provider.browser(),
      locationOf(await atSite.get('/page', { accept: 'text/html' })),
    )
    const returned = await atSite.get(back.href)
    expect(locationOf(returned).href).toBe(`${site}/page`)
    const known = await atSite.get('/callback?info=json')
    expect(JSON.parse(known.html)).toMatchObject({
      id_token: { sub: '1', iss: provider.issuer, aud: 'site' },
      userinfo: { sub: '1', name: ada.full_name, email: ada.email },
    })
  })
})
