import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf, expectErrorRedirect } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { answerOf, expectError, post, redeem, refresh, userinfo, web } from '../support/tokens.ts'

// A backup that was restored brings back what had ended since; docs/scaling.md has the statements that end it again.

const page = readFileSync(join(__dirname, '../../docs/scaling.md'), 'utf8')
const [, snippet = ''] = /^## Backups$[\s\S]*?^```sql\n([\s\S]*?)^```$/m.exec(page) ?? []
const statements = snippet.split(';').flatMap((statement) => statement.trim() || [])

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

const request = authorizeUrl({ client_id: 'web', scope: 'openid offline_access notes:read' })

test('after the documented statements every code, token and login is invalid, and users can sign in', async () => {
  const agent = new RawBrowser(host.app)
  const tokens = await answerOf(redeem(host, codeOf(await agent.grant(request))))
  const unused = codeOf(await agent.get(request))
  const { body: own } = await post(host, { ...web, grant_type: 'client_credentials' })
  const active = (token: string) =>
    agent.post('/oauth/introspect', { ...web, token }).then(({ html }): unknown => JSON.parse(html).active)
  expect(await active(own.access_token)).toBe(true)

  expect(statements).toHaveLength(3)
  for (const statement of statements)
    await host.database.knex.raw(statement.replace('oauth_', host.database.tablePrefix))

  expect(await active(own.access_token)).toBe(false)
  expect((await userinfo(host, tokens.access_token)).status).toBe(401)
  expectError(await refresh(host, tokens.refresh_token), 400, 'invalid_grant')
  expectError(await redeem(host, unused), 400, 'invalid_grant')
  expectErrorRedirect(await agent.get(`${request}&prompt=none`), 'login_required')
  // What they allowed still holds: after the sign-in nothing is asked.
  const answer = await agent.signIn(await agent.open(request))
  expect((await userinfo(host, (await answerOf(redeem(host, codeOf(answer)))).access_token)).status).toBe(200)
})
