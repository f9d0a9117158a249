// Doorkeeper as Debian packages it: its own migration and its own models, on PostgreSQL and MariaDB.

import { hashSecret } from '../../lib/keys/secrets.ts'
import {
  expectRotation,
  type ImportHost,
  type Known,
  refreshWith,
  startImportHost,
} from '../support/import-host.ts'
import { createPeerDatabase, fill, type PeerDatabase, type PeerService } from '../support/peer-database.ts'
import { describeWith, services } from '../support/services.ts'

jest.setTimeout(60_000)

type Name = 'plain' | 'sha256' | 'bcrypt' | 'phone' | 'mixed' | 'http'
type Answer = Readonly<Record<Name, Known>> & { readonly phone: { readonly revoked: string } }

describeWith(['doorkeeper', 'postgresql', 'mariadb'], 'import from Doorkeeper', () => {
  let host: ImportHost
  let peer: PeerDatabase | undefined
  beforeEach(async () => {
    host = await startImportHost()
  })
  afterEach(async () => {
    await host?.close()
    await peer?.drop()
  })

  const open = async (service: PeerService): Promise<{ url: string; known: Answer }> => {
    peer = await createPeerDatabase(service)
    const { url } = peer
    const known = await fill<Answer>(
      services.doorkeeper,
      'doorkeeper-app.rb',
      url.replace(/^mysql:/, 'mysql2:'),
    )
    return { url, known }
  }

  test.each(['postgresql', 'mariadb'] as const)('from %s', async (service) => {
    const { url, known } = await open(service)
    const from = ['doorkeeper', '--from', url, '--refresh-tokens']
    const planned = await host.import(...from, '--dry-run')
    expect(await host.database.knex('oauth_clients').select()).toEqual([])
    const report = await host.import(...from)
    expect(report).toMatchObject({ ...planned, printed: expect.any(String) })
    expect(report).toMatchObject({
      code: 1,
      refused: [{ client_id: known.http.client_id, remark: 'redirect_uri must use https beyond loopback' }],
      notes: [
        { client_id: known.mixed.client_id, remark: expect.stringContaining('http://mixed.example.com/cb') },
      ],
      refresh_tokens: { imported: 3, known: 0, refused: {} },
    })
    const imported = [known.plain, known.sha256, known.bcrypt, known.phone, known.mixed]
    expect(report.clients.map(({ client_id }) => client_id)).toEqual(
      imported.map(({ client_id }) => client_id),
    )
    for (const { client_secret, refresh_token = client_secret } of Object.values(known)) {
      expect(report.printed).not.toContain(client_secret)
      expect(report.printed).not.toContain(refresh_token)
    }
    expect(await host.oauth.clients.get(known.sha256.client_id)).toMatchObject({
      client_name: 'sha256',
      redirect_uris: ['https://sha256.example.com/cb', 'https://sha256.example.com/cb2'],
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      scope: 'read write',
    })
    expect(await host.oauth.clients.get(known.phone.client_id)).toMatchObject({
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    })
    expect(await host.oauth.clients.get(known.mixed.client_id)).toMatchObject({
      redirect_uris: ['https://mixed.example.com/cb'],
    })
    const again = { code: 1, clients: [], refresh_tokens: { imported: 0, known: 3 } }
    expect(await host.import(...from)).toMatchObject(again)

    const { client_id } = known.bcrypt
    const wrong = await refreshWith(host, { ...known.bcrypt, client_secret: known.plain.client_secret })
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    const stored = host.database.knex('oauth_clients').select('secret_hash').where({ client_id })
    expect(await stored.clone()).not.toEqual([{ secret_hash: hashSecret(known.bcrypt.client_secret) }])
    for (const each of [known.plain, known.sha256, known.bcrypt])
      expect((await expectRotation(host, each)).scope).toBe('read')
    expect(await stored.clone()).toEqual([{ secret_hash: hashSecret(known.bcrypt.client_secret) }])
    expect(await host.database.knex('oauth_imported_secrets').select()).toEqual([])
    expect(
      (await refreshWith(host, known.phone, known.phone.revoked, { client_secret: undefined })).body,
    ).toEqual(expect.objectContaining({ error: 'invalid_grant' }))
    expect(await host.import(...from)).toMatchObject(again)
  })
})
