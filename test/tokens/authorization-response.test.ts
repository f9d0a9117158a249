import { issueAuthorizationResponse } from '../../lib/oauth/authorization/issue.ts'
import type { AuthorizationServer } from '../../lib/oauth/authorization-server.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'
import type { ConsentReceipt } from '../../lib/protocol/requests/consent.ts'
import type { AuthorizationContext } from '../../lib/protocol/requests/next-step.ts'
import { compose } from '../../lib/router.ts'
import { createLogin, endLogin, findClient, findConsents } from '../../lib/storage/repositories/index.ts'
import { allowedUserOf } from '../support/allowed-user.ts'
import { callback, type Host, startHost } from '../support/host.ts'

let host: Host
let server: AuthorizationServer
beforeAll(async () => {
  host = await startHost()
  const { knex: database, tablePrefix } = host.database
  const secrets = ['a secret of the tests that is long enough']
  server = await compose(
    resolveOptions({ database: { knex: database, tablePrefix }, secrets }),
  ).server.ready()
})
afterAll(async () => {
  await server.close()
  await host.close()
})

const subject = '1'
const clientId = 'web'

/** What the authorization endpoint has read, and what the user answered, under a login that may end meanwhile. */
const grantUnder = async (sid: string, scopes: string[]) => {
  const now = server.now()
  const login = { sid, subject, authTime: now, amr: ['pwd'], expiresAt: now + 3600 }
  await createLogin(server.database, { ...login, expiresAt: now + 60 })
  const client = await findClient(server.database, { clientId, now })
  const line = { group: 'read', optional: false, allowed: true, meaning: 'm' }
  const shown = scopes.map((name) => ({ name, text: name, ...line }))
  const receipt: ConsentReceipt = {
    locale: 'en',
    product: 'Notes',
    scopes: shown,
    claims: [],
    client: { name: 'Web client', host: 'client.example.com' },
  }
  const byQuery = { responseType: 'code', responseMode: 'query' } as const
  const context: AuthorizationContext = {
    request: { clientId, redirectUri: callback, ...byQuery, scopes, prompt: [] },
    client: client!,
    login,
    consent: undefined,
    decision: { allowed: true, sid, scopes, receipt },
    sidAtStart: undefined,
    requestedAt: now,
    now,
  }
  const user = allowedUserOf(subject)
  return { context, login, user, scopes, pendingId: undefined }
}
const rows = (): Promise<{ sid: string; request: string }[]> => host.table('authorizations')

test('a login that ended meanwhile gets no lasting grant and no consent', async () => {
  const grant = await grantUnder('ended', ['openid', 'offline_access'])
  await endLogin(server.database, { sid: 'ended', now: server.now() })
  expect(await issueAuthorizationResponse(server, grant)).toBe('signed-out')
  expect(await rows()).toEqual([])
  expect(await findConsents(server.database, { subject, clientId })).toEqual([])
})

test('a valid login gets both', async () => {
  const grant = await grantUnder('standing', ['openid', 'offline_access'])
  expect(await issueAuthorizationResponse(server, grant)).toEqual({
    authorizationId: expect.stringMatching(/^[\w-]{22}$/),
    parameters: { code: expect.stringMatching(/^lk_ac_/) },
  })
  expect(await rows()).toHaveLength(1)
  expect(await findConsents(server.database, { subject, clientId })).toMatchObject([
    {
      organization: '',
      terms: { place: 'client.example.com', entries: { openid: 'm', offline_access: 'm' } },
    },
  ])
})

test('a client that needs no consent keeps an organization’s consent, and the choice of another', async () => {
  const chosen = async (organization: string, isFirstParty: boolean): Promise<void> => {
    const grant = await grantUnder(`${organization}-${isFirstParty}`, ['openid'])
    const { client, decision } = grant.context
    const metadata = { ...client.metadata, first_party: isFirstParty }
    const answer = { ...decision!, organization, ...(isFirstParty && { organizationOnly: true }) }
    const context = { ...grant.context, client: { ...client, metadata }, decision: answer }
    await issueAuthorizationResponse(server, { ...grant, context, organization })
  }
  await chosen('acme', false)
  await chosen('acme', true)
  await chosen('globex', true)
  const consents = await findConsents(server.database, { subject, clientId })
  expect(consents.find(({ organization }) => organization === 'acme')?.terms).toEqual({
    place: 'client.example.com',
    entries: { openid: 'm' },
  })
  expect(consents.find(({ organization }) => organization === 'globex')?.terms.entries).toEqual({})
})

test('of the request just that is kept which is asked for later: no state, no hint, no language', async () => {
  const grant = await grantUnder('forgetful', ['openid'])
  const codeChallenge = { value: 'c'.repeat(43), method: 'S256' } as const
  const hints = { loginHint: 'ada@example.com', hintedSubject: subject, uiLocales: ['fr'], maxAge: 60 }
  const request = { ...grant.context.request, ...hints, state: 'a state', nonce: 'a nonce', codeChallenge }
  await issueAuthorizationResponse(server, { ...grant, context: { ...grant.context, request } })
  const [kept] = (await rows()).filter(({ sid }) => sid === 'forgetful')
  const { authTime, amr } = grant.login
  const details = { redirectUri: callback, codeChallenge, nonce: 'a nonce', authTime, amr }
  expect(JSON.parse(String(kept?.request))).toEqual(details)
})
