// go-oidc with x/oauth2, in Go: discovery, the code flow, an ID token that it verifies itself, UserInfo and a refresh.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callback, clients, secret } from '../support/host.ts'
import { describeWith, services } from '../support/services.ts'
import { answer, type Provider, startProvider } from '../support/stock-client.ts'
import { ada } from '../support/tokens.ts'
import { type StockProgram, startProgram } from './stock-program.ts'

describeWith('go-oidc', 'go-oidc', () => {
  let provider: Provider
  let program: StockProgram | undefined
  const compiled = mkdtempSync(join(tmpdir(), 'latchkey-go-'))
  beforeAll(async () => {
    provider = await startProvider({ clients })
  })
  afterAll(async () => {
    program?.stop()
    await provider?.close()
    rmSync(compiled, { recursive: true, force: true })
  })

  test('signs a user in and refreshes', async () => {
    const environment = { GO111MODULE: 'off', GOPATH: services['go-oidc'], GOCACHE: compiled }
    program = startProgram('go', ['run', join(__dirname, 'go-oidc-client.go')], environment)
    const { issuer } = provider
    const url = await program.say({
      issuer,
      client_id: 'web',
      client_secret: secret,
      redirect_uri: callback,
      scopes: ['openid', 'profile', 'email', 'offline_access'],
    })
    const back = await answer(provider.browser(), String(url))
    expect(await program.say(back.href)).toEqual({
      details: [null, null],
      isNew: true,
      state: 'some-state',
      nonce: 'some-nonce',
      subject: '1',
      userinfo: expect.objectContaining({ sub: '1', name: ada.full_name, email: ada.email }),
    })
    // Go first compiles its standard library, which takes half a minute on a busy machine.
  }, 180_000)
})
