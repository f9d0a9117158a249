// The code that the page of an app shows runs as it stands, with each library, against a running server.

import { type SnippetClient, snippetsFor } from '../../lib/features/developers/snippets.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { freePort } from '../support/free-ports.ts'
import { type Host, secret, startHost } from '../support/host.ts'
import { openHostFolder } from '../support/host-folder.ts'
import { RawBrowser } from '../support/raw-browser.ts'

const scopes = ['openid', 'profile']
let server: TestServer
let host: Host
let port: number
beforeAll(async () => {
  server = await openServer()
  port = await freePort()
  const redirect_uris = [`http://localhost:${port}/callback`]
  host = await startHost({
    options: { issuer: `${server.origin}/oauth` },
    clients: [
      { client_id: 'confidential', client_secret: secret, redirect_uris },
      { client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris },
    ],
  })
  server.serve(host.app)
})
afterAll(async () => {
  await host.close()
  await server.close()
})

const clientOf = (isPublic: boolean): SnippetClient => ({
  issuer: `${server.origin}/oauth`,
  clientId: isPublic ? 'public' : 'confidential',
  redirectUri: `http://localhost:${port}/callback`,
  scopes,
  isPublic,
})

test.each(
  [false, true].flatMap((isPublic) =>
    snippetsFor({ isPublic }).map(
      (snippet) => [snippet.library, isPublic ? 'public' : 'confidential', snippet] as const,
    ),
  ),
)('%s, as a %s client, signs a user in (pages 25)', async (library, kind, snippet) => {
  const folder = openHostFolder({ 'app.mjs': snippet.code(clientOf(kind === 'public')) })
  try {
    const env = {
      PORT: String(port),
      CLIENT_SECRET: secret,
      SESSION_SECRET: 'a secret of this test, which is long enough',
    }
    await folder.start('app.mjs', env)
    const origin = `http://localhost:${port}`
    const app = new RawBrowser(origin, origin)
    const begun = await app.get(library === 'express-openid-connect' ? '/' : '/login')
    const provider = new RawBrowser(server.origin, server.origin)
    const granted = await provider.grant(String(begun.location))
    const done = await app.open(String(granted.location))
    expect(done.html).toBe('Hello, 1')
  } finally {
    folder.remove()
  }
})

test('no code contains the secret', () => {
  for (const { code } of snippetsFor({ isPublic: false }))
    expect(code(clientOf(false))).toContain('process.env.CLIENT_SECRET')
})
