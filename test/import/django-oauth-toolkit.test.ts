// django-oauth-toolkit as Debian packages it: the migrations and models of Django and of the toolkit, on PostgreSQL and
// MariaDB.

import { verifyPassword } from '../../lib/passwords/passwords.ts'
import {
  expectRotation,
  type ImportHost,
  type Known,
  refreshWith,
  startImportHost,
} from '../support/import-host.ts'
import { createPeerDatabase, fill, type PeerDatabase } from '../support/peer-database.ts'
import { describeWith, services } from '../support/services.ts'
import { answerOf, post } from '../support/tokens.ts'

jest.setTimeout(60_000)

type Name = 'hashed' | 'plain' | 'worker' | 'password' | 'wildcard' | 'phone'
type Answer = Readonly<Record<Name, Known>> & { readonly ada: { readonly password: string } }

describeWith(['django-oauth-toolkit', 'postgresql', 'mariadb'], 'import from django-oauth-toolkit', () => {
  let host: ImportHost
  let peer: PeerDatabase | undefined
  beforeEach(async () => {
    host = await startImportHost()
  })
  afterEach(async () => {
    await host?.close()
    await peer?.drop()
  })

  test.each(['postgresql', 'mariadb'] as const)('from %s', async (service) => {
    peer = await createPeerDatabase(service)
    const known = await fill<Answer>(services['django-oauth-toolkit'], 'django-app.py', peer.url)
    const from = ['django-oauth-toolkit', '--from', peer.url, '--refresh-tokens', '--scope', 'openid read']
    const report = await host.import(...from)
    expect(report).toMatchObject({
      code: 1,
      refused: [
        { client_id: known.password.client_id, remark: 'the grant password is not supported' },
        { client_id: known.wildcard.client_id, remark: 'redirect_uri must not contain a wildcard' },
      ],
      notes: [{ client_id: known.phone.client_id, remark: expect.stringContaining('RS256') }],
      refresh_tokens: { imported: 1, known: 0, refused: {} },
    })
    const again = { clients: [], refresh_tokens: { imported: 0, known: 1 } }
    expect(await host.import(...from)).toMatchObject(again)
    const { clients } = host.oauth
    expect(await clients.get(known.hashed.client_id)).toMatchObject({
      redirect_uris: ['https://hashed.example.com/cb', 'https://hashed.example.com/cb2'],
      first_party: false,
      scope: 'openid read',
    })
    expect(await clients.get(known.plain.client_id)).toMatchObject({ first_party: true })
    expect(await clients.get(known.worker.client_id)).toMatchObject({ grant_types: ['client_credentials'] })
    expect(await clients.get(known.phone.client_id)).toMatchObject({ token_endpoint_auth_method: 'none' })

    // The token has `read write` there, and the client only `openid read` here.
    expect((await expectRotation(host, known.hashed)).scope).toBe('read')
    const revoked = await refreshWith(host, known.plain, known.plain.refresh_token)
    expect(revoked.body).toMatchObject({ error: 'invalid_grant' })
    const { client_id, client_secret } = known.worker
    await answerOf(post(host, { grant_type: 'client_credentials', client_id, client_secret }))
    expect(await host.import(...from)).toMatchObject(again)
    expect(await verifyPassword('correct horse battery staple', known.ada.password)).toBe(true)
  })
})
