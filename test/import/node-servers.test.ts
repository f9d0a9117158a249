// oidc-provider and node-oauth2-server, as npm has them: their own code writes clients and tokens on PostgreSQL and MariaDB.

import {
  expectRotation,
  type ImportHost,
  type Known,
  refreshWith,
  startImportHost,
} from '../support/import-host.ts'
import { createPeerDatabase, fill, type PeerDatabase } from '../support/peer-database.ts'
import { describeWith } from '../support/services.ts'

type Answer<Name extends string> = Readonly<Record<Name, Known>>

describeWith(['postgresql', 'mariadb'], 'import from servers for Node', () => {
  let host: ImportHost
  let peer: PeerDatabase | undefined
  beforeEach(async () => {
    host = await startImportHost()
  })
  afterEach(async () => {
    await host?.close()
    await peer?.drop()
  })

  test.each(['postgresql', 'mariadb'] as const)('oidc-provider on %s', async (service) => {
    peer = await createPeerDatabase(service)
    const known = await fill<Answer<'web'> & { web: { used: string } }>(
      process.execPath,
      'oidc-provider-app.mjs',
      peer.url,
    )
    const from = ['oidc-provider', '--from', peer.url, '--refresh-tokens']
    const report = await host.import(...from)
    const sorted = (list: readonly { client_id: string }[]) => list.map(({ client_id }) => client_id).sort()
    expect(report.code).toBe(1)
    expect(sorted(report.clients)).toEqual(['phone', 'post', 'web'])
    expect(report.refused).toEqual(
      expect.arrayContaining([
        { client_id: 'pairwise', remark: expect.stringContaining('pairwise') },
        { client_id: 'short', remark: expect.stringContaining('at least 32 characters') },
      ]),
    )
    expect(report.refresh_tokens).toEqual({
      ...{ imported: 1, known: 0 },
      refused: { 'it ends with a session': 1, 'it is bound to a key': 1 },
    })
    expect(await host.oauth.clients.get('web')).toMatchObject({
      ...{ client_name: 'Web', token_endpoint_auth_method: 'client_secret_basic' },
      ...{ grant_types: ['authorization_code', 'refresh_token'], scope: 'openid offline_access read' },
    })
    // Registration says client_secret_basic, so the secret in the body is refused.
    expect((await refreshWith(host, known.web, known.web.refresh_token)).status).toBe(401)
    await host.oauth.clients.update('web', { token_endpoint_auth_method: 'client_secret_post' })
    const { id_token } = await expectRotation(host, known.web)
    const claims = JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ sub: '1', auth_time: 1_700_000_000 })
    expect((await refreshWith(host, known.web, known.web.used)).body).toMatchObject({
      error: 'invalid_grant',
    })
  })

  test.each(['postgresql', 'mariadb'] as const)('node-oauth2-server on %s', async (service) => {
    peer = await createPeerDatabase(service)
    const known = await fill<Answer<'shop'>>(process.execPath, 'oauth2-server-app.mjs', peer.url)
    const report = await host.import(
      'oauth2-server',
      '--from',
      peer.url,
      '--refresh-tokens',
      '--scope',
      'read',
    )
    expect(report).toMatchObject({
      code: 1,
      clients: [{ client_id: 'phone' }, { client_id: 'shop' }],
      refused: [{ client_id: 'legacy', remark: 'the grant password is not supported' }],
      refresh_tokens: { imported: 1, known: 0, refused: { 'it is expired': 1 } },
    })
    expect(await host.oauth.clients.get('phone')).toMatchObject({ token_endpoint_auth_method: 'none' })
    await expectRotation(host, known.shop)
  })
})
