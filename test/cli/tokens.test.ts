import { personalAccessTokens } from '../../lib/features/index.ts'
import { issuePersonalToken } from '../../lib/features/personal-tokens/issue.ts'
import { personalTokenOptionIn } from '../../lib/features/personal-tokens/option.ts'
import { serverBehind } from '../../lib/router.ts'
import { allowedUserOf } from '../support/allowed-user.ts'
import { features, openCommandLine } from '../support/command-line.ts'
import { openSharedDatabase, type SharedDatabase } from '../support/database.ts'
import { createUsers, type Host, issuer } from '../support/host.ts'
import { files, introspectAs, notes, startResourceHost, tokensOf } from '../support/resource-host.ts'
import { standingLogin } from '../support/standing-login.ts'
import { refresh, tokensFor } from '../support/tokens.ts'

const cli = openCommandLine()
const secrets: [string] = ['a secret of the tests that is long enough']

let host: Host
let shared: SharedDatabase
let folder: string
beforeAll(async () => {
  shared = openSharedDatabase()
  await createUsers(shared, `${shared.tablePrefix}people`)
  host = await startResourceHost({
    database: shared,
    options: { secrets, features: [personalAccessTokens()] },
  })
  folder = cli.folder({
    'latchkey.config.mjs': `import { personalAccessTokens } from '${features()}'
export default {
  issuer: '${issuer}', secrets: ${JSON.stringify(secrets)},
  database: ${JSON.stringify({ knex: shared.config, tablePrefix: shared.tablePrefix })},
  users: { find: () => undefined, authenticate: () => undefined },
  storedEvents: true, features: [personalAccessTokens.off()],
}`,
  })
})
afterAll(async () => {
  await cli.close()
  await host.close()
})

const inspect = async (input: string): Promise<Record<string, string>> =>
  JSON.parse((await cli.succeed(folder, ['token', 'inspect', '--json'], { input })).stdout)
const revoke = (input: string) => cli.succeed(folder, ['token', 'revoke'], { input })
const storedEvents = () => shared.table('events').orderBy('type').pluck('type')
beforeEach(async () => void (await shared.table('events').delete()))

test('an access token and a refresh token are inspected and revoked', async () => {
  const { access_token, refresh_token } = await tokensFor(host, { scope: 'openid notes:read' })
  const about = { state: 'active', client_id: 'web', sub: '1', scope: 'openid notes:read' }
  expect(await inspect(access_token)).toMatchObject({ type: 'access token', ...about })
  expect(await inspect(`${refresh_token}\n`)).toMatchObject({ type: 'refresh token', ...about })

  await revoke(access_token)
  expect(await inspect(access_token)).toMatchObject({ state: 'revoked' })
  expect(await introspectAs(host, 'web', access_token)).toEqual({ active: false })
  const next = (await refresh(host, refresh_token).expect(200)).body
  expect(await inspect(refresh_token)).toMatchObject({ state: 'used' })

  await revoke(next.refresh_token)
  expect(await inspect(next.access_token)).toMatchObject({ state: 'its authorization is revoked' })
  await refresh(host, next.refresh_token).expect(400)
  expect(await storedEvents()).toEqual(['authorization.revoked', 'token.revoked'])
})

test('a JWT counts only if a key of this server signed it; it ends with the consent', async () => {
  const { access_token: jwt } = await tokensOf(host, [files], { scope: 'files:read' })
  expect(await inspect(jwt)).toMatchObject({
    type: 'JWT access token',
    state: 'active',
    sub: '1',
    scope: 'files:read',
    resource: files,
  })
  const [head, body = '', signature] = jwt.split('.')
  const claims = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: '2' }
  const forged = [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
  expect(await cli.run(folder, ['token', 'inspect'], { input: forged })).toMatchObject({
    code: 1,
    stdout: '',
  })
  const refused = await cli.run(folder, ['token', 'revoke'], { input: jwt })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('consents revoke') })

  const list = await cli.succeed(folder, ['consents', 'list', '1', '--json'])
  expect(JSON.parse(list.stdout)).toEqual([
    expect.objectContaining({ clientId: 'web', scopes: expect.arrayContaining([`files:read (${files})`]) }),
  ])
  await cli.succeed(folder, ['consents', 'revoke', '1', 'web'])
  expect(await inspect(jwt)).toMatchObject({ state: 'its authorization is revoked' })
  expect((await cli.run(folder, ['consents', 'revoke', '1', 'web'])).code).toBe(1)
})

test('a disabled client is the reason; resources are named', async () => {
  const { access_token } = await tokensOf(host, [notes], { scope: 'notes:read' })
  await host.oauth.clients.disable('web')
  expect(await inspect(access_token)).toMatchObject({
    state: 'its client is disabled or deleted',
    resource: notes,
  })
  await host.oauth.clients.enable('web')
})

test.each([
  ['an unknown token', `lk_at_${'A'.repeat(43)}`, 'the token is unknown'],
  [
    'a client secret',
    `lk_cs_${'A'.repeat(43)}`,
    'not a token, but has the form of this secret: client secret',
  ],
  ['nothing', '', 'the token is unknown'],
])('%s is refused without being repeated', async (_, input, message) => {
  const { code, stdout, stderr } = await cli.run(folder, ['token', 'inspect'], { input })
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain(message)
  if (input !== '') expect(stderr).not.toContain(input)
})

test('a personal access token is inspected, listed and revoked, by itself and by its id', async () => {
  const server = await serverBehind(host.oauth)!.ready()
  const expiresAt = server.now() + 86_400
  const option = personalTokenOptionIn(server.options)!
  const sid = await standingLogin(server.database, '1', server.now())
  const choice = { user: allowedUserOf('1'), sid, name: 'Backup\u001b[2J', scopes: ['notes:read'], expiresAt }
  const [one, other] = [
    await issuePersonalToken(server, option, choice),
    await issuePersonalToken(server, option, choice),
  ]
  expect(await inspect(one?.value ?? '')).toMatchObject({
    type: 'personal access token',
    state: 'active',
    id: one?.id,
    name: choice.name,
    sub: '1',
    scope: 'notes:read',
    expires: new Date(expiresAt * 1000).toISOString(),
  })
  const { stdout } = await cli.succeed(folder, ['personal-tokens', 'list', '1'])
  expect(stdout).toMatch(/^ID +NAME +SCOPES +CREATED +LAST USED +EXPIRES\n/)
  expect(stdout).toContain('Backup?[2J')
  await revoke(one?.value ?? '')
  await cli.succeed(folder, ['personal-tokens', 'revoke', other?.id ?? ''])
  const { stdout: left } = await cli.succeed(folder, ['personal-tokens', 'list', '1', '--json'])
  expect(JSON.parse(left)).toEqual([])
  expect(await storedEvents()).toEqual(['token.personal.revoked', 'token.personal.revoked'])
  expect((await cli.run(folder, ['personal-tokens', 'revoke', other?.id ?? ''])).code).toBe(1)
  expect((await cli.run(folder, ['token', 'inspect'], { input: one?.value ?? '' })).code).toBe(1)
})
