// Doorkeeper and django-oauth-toolkit as Debian packages them, oidc-provider and node-oauth2-server as npm has them: their
// own migrations and code fill a database of PostgreSQL or MariaDB, with TEST_ALL=1 of both.

import { hashSecret } from '../../lib/keys/secrets.ts'
import { verifyPassword } from '../../lib/users/passwords/passwords.ts'
import type { Host } from '../support/host.ts'
import { claimsOf } from '../support/outcomes.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith, services } from '../support/services.ts'
import { answerOf, type Fields, post, type TokenAnswer } from '../support/tokens.ts'
import { type ImportHost, type Known, startImportHost } from './host.ts'
import { createPeerDatabase, fill, type PeerDatabase, type PeerService } from './peer-database.ts'

const refreshWith = (
  host: Host,
  { client_id, client_secret }: Known,
  refresh_token = '',
  more: Fields = {},
) => post(host, { grant_type: 'refresh_token', client_id, client_secret, refresh_token, ...more })

/** What every imported refresh token must do: it works once, and its second use ends what followed from it. */
const expectRotation = async (host: Host, known: Known): Promise<TokenAnswer> => {
  const first = await answerOf(refreshWith(host, known, known.refresh_token))
  expect(first.refresh_token).toMatch(/^lk_rt_/)
  const second = await answerOf(refreshWith(host, known, first.refresh_token))
  const replayed = await refreshWith(host, known, known.refresh_token)
  expect(replayed.body).toMatchObject({ error: 'invalid_grant' })
  const ended = await refreshWith(host, known, second.refresh_token)
  expect(ended.body).toMatchObject({ error: 'invalid_grant' })
  return first
}

type Answer<Name extends string> = Readonly<Record<Name, Known>>

const idsOf = (clients: readonly { client_id: string }[]): string[] =>
  clients.map(({ client_id }) => client_id)
const on = (sample: PeerService): PeerService[] => (testsAll ? ['postgresql', 'mariadb'] : [sample])

describeWith(['postgresql', 'mariadb'], 'import from', () => {
  let host: ImportHost
  let peer: PeerDatabase | undefined
  beforeAll(async () => {
    host = await startImportHost()
  })
  afterEach(async () => {
    await peer?.drop()
    peer = undefined
    await host.forget()
  })
  afterAll(() => host?.close())

  const open = async <T>(service: PeerService, command: string, program: string) => {
    peer = await createPeerDatabase(service)
    // The adapter of Rails has another name.
    const url = program.endsWith('.rb') ? peer.url.replace(/^mysql:/, 'mysql2:') : peer.url
    return { url: peer.url, known: await fill<T>(command, program, url) }
  }

  test.each(on('mariadb'))('oidc-provider on %s', async (service) => {
    type Clients = Answer<'web'> & { web: { used: string } }
    const { url, known } = await open<Clients>(service, process.execPath, 'oidc-provider-app.mjs')
    const report = await host.import('oidc-provider', '--from', url, '--refresh-tokens')
    expect(report.code).toBe(1)
    expect(idsOf(report.clients).sort()).toEqual(['phone', 'post', 'web'])
    expect(report.refused).toEqual(
      expect.arrayContaining([
        { client_id: 'pairwise', remark: expect.stringContaining('pairwise') },
        { client_id: 'short', remark: expect.stringContaining('at least 32 characters') },
      ]),
    )
    expect(report.refresh_tokens).toEqual({
      imported: 1,
      known: 0,
      refused: { 'it ends with a session': 1, 'it is bound to a key': 1 },
    })
    expect(await host.oauth.clients.get('web')).toMatchObject({
      client_name: 'Web',
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
      scope: 'openid offline_access read',
    })
    // Registration says client_secret_basic, so the secret in the body is refused.
    expect((await refreshWith(host, known.web, known.web.refresh_token)).status).toBe(401)
    await host.oauth.clients.update('web', { token_endpoint_auth_method: 'client_secret_post' })
    const { id_token } = await expectRotation(host, known.web)
    expect(claimsOf(id_token)).toMatchObject({ sub: '1', auth_time: 1_700_000_000 })
    const used = await refreshWith(host, known.web, known.web.used)
    expect(used.body).toMatchObject({ error: 'invalid_grant' })
  })

  test.each(on('postgresql'))('node-oauth2-server on %s', async (service) => {
    const { url, known } = await open<Answer<'shop'>>(service, process.execPath, 'oauth2-server-app.mjs')
    const from = ['oauth2-server', '--from', url, '--refresh-tokens', '--scope', 'read']
    expect(await host.import(...from)).toMatchObject({
      code: 1,
      clients: [{ client_id: 'phone' }, { client_id: 'shop' }],
      refused: [{ client_id: 'legacy', remark: 'the grant password is not supported' }],
      refresh_tokens: { imported: 1, known: 0, refused: { 'it is expired': 1 } },
    })
    expect(await host.oauth.clients.get('phone')).toMatchObject({ token_endpoint_auth_method: 'none' })
    await expectRotation(host, known.shop)
  })

  describeWith('django-oauth-toolkit', 'django-oauth-toolkit', () => {
    type Name = 'hashed' | 'plain' | 'worker' | 'password' | 'wildcard' | 'phone'
    type Clients = Answer<Name> & { readonly ada: { readonly password: string } }

    test.each(on('mariadb'))('on %s', async (service) => {
      const python = services['django-oauth-toolkit']
      const { url, known } = await open<Clients>(service, python, 'django-app.py')
      const from = ['django-oauth-toolkit', '--from', url, '--refresh-tokens', '--scope', 'openid read']
      expect(await host.import(...from)).toMatchObject({
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

  describeWith('doorkeeper', 'Doorkeeper', () => {
    type Name = 'plain' | 'sha256' | 'bcrypt' | 'phone' | 'mixed' | 'http'
    type Clients = Answer<Name> & { readonly phone: { readonly revoked: string } }

    test.each(on('postgresql'))('on %s', async (service) => {
      const { url, known } = await open<Clients>(service, services.doorkeeper, 'doorkeeper-app.rb')
      const { plain, sha256, bcrypt, phone, mixed, http } = known
      const from = ['doorkeeper', '--from', url, '--refresh-tokens']
      const planned = await host.import(...from, '--dry-run')
      expect(await host.database.knex('latchkey_clients').select()).toEqual([])
      const report = await host.import(...from)
      expect(report).toMatchObject({ ...planned, printed: expect.any(String) })
      expect(report).toMatchObject({
        code: 1,
        refused: [
          { client_id: http.client_id, remark: expect.stringContaining('must use https beyond loopback') },
        ],
        notes: [
          { client_id: mixed.client_id, remark: expect.stringContaining('http://mixed.example.com/cb') },
        ],
        refresh_tokens: { imported: 3, known: 0, refused: {} },
      })
      expect(idsOf(report.clients)).toEqual(idsOf([plain, sha256, bcrypt, phone, mixed]))
      for (const { client_secret, refresh_token = client_secret } of Object.values(known)) {
        expect(report.printed).not.toContain(client_secret)
        expect(report.printed).not.toContain(refresh_token)
      }
      const { clients } = host.oauth
      expect(await clients.get(sha256.client_id)).toMatchObject({
        client_name: 'sha256',
        redirect_uris: ['https://sha256.example.com/cb', 'https://sha256.example.com/cb2'],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        scope: 'read write',
      })
      expect(await clients.get(phone.client_id)).toMatchObject({
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      })
      const redirect_uris = ['https://mixed.example.com/cb']
      expect(await clients.get(mixed.client_id)).toMatchObject({ redirect_uris })
      const again = { code: 1, clients: [], refresh_tokens: { imported: 0, known: 3 } }
      expect(await host.import(...from)).toMatchObject(again)

      const { client_id } = bcrypt
      const wrong = await refreshWith(host, { ...bcrypt, client_secret: plain.client_secret })
      expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
      const stored = host.database.knex('latchkey_clients').select('secret_hash').where({ client_id })
      const hashed = [{ secret_hash: hashSecret(bcrypt.client_secret) }]
      expect(await stored.clone()).not.toEqual(hashed)
      for (const each of [plain, sha256, bcrypt])
        expect((await expectRotation(host, each)).scope).toBe('read')
      expect(await stored.clone()).toEqual(hashed)
      expect(await host.database.knex('latchkey_imported_secrets').select()).toEqual([])
      const revoked = await refreshWith(host, phone, phone.revoked, { client_secret: undefined })
      expect(revoked.body).toMatchObject({ error: 'invalid_grant' })
      expect(await host.import(...from)).toMatchObject(again)
    })
  })
})
