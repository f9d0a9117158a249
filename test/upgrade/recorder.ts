import { hash } from '@node-rs/bcrypt'
import { Secret, TOTP } from 'otpauth'
import supertest from 'supertest'
import { passkeysPath } from '../../lib/features/passkeys/passkeys-page.ts'
import { issuePersonalToken } from '../../lib/features/personal-tokens/issue.ts'
import { personalTokenOptionIn } from '../../lib/features/personal-tokens/option.ts'
import { noClient } from '../../lib/features/personal-tokens/verify.ts'
import { settingsPath } from '../../lib/features/second-factor/settings-page.ts'
import { seedUsers } from '../../lib/index.ts'
import { importedMark } from '../../lib/keys/secrets.ts'
import { allowedUser } from '../../lib/oauth/tokens/allowed.ts'
import { serverBehind } from '../../lib/router.ts'
import { askedBy, createAuthenticator } from '../support/authenticator.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { codesFor, connect } from '../support/device.ts'
import { migrations } from '../support/features.ts'
import { authorizeUrl, callback, type Host } from '../support/host.ts'
import { claimsOf, codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { authorizePath, files } from '../support/resource-host.ts'
import { standingLogin } from '../support/standing-login.ts'
import { answerOf, redeem, refresh, web } from '../support/tokens.ts'
import { type Holdings, names, password, type Recorded, startRecorded } from './recorded-server.ts'

const scope = 'openid profile email offline_access notes:read'

const cookiesOf = ({ cookies }: RawBrowser): Record<string, string> => Object.fromEntries(cookies)

const enrol = async (host: Host): Promise<Pick<Holdings, 'totpSecret' | 'recoveryCode'>> => {
  const browser = new RawBrowser(host.app)
  const page = await browser.signIn(await browser.open(`/oauth${settingsPath}`), names.bob, password)
  const [, shown = ''] = /id="secret" dir="ltr">([A-Z2-7 ]+)</.exec(page.html) ?? []
  const totpSecret = shown.replaceAll(' ', '')
  const code = new TOTP({ secret: Secret.fromBase32(totpSecret) }).generate()
  const { html } = await browser.submit(page, 'name="code"', { decision: 'confirm', code })
  const [, codes = ''] = /id="recovery-codes"[^>]*>([a-z2-7\n-]+)</.exec(html) ?? []
  return { totpSecret, recoveryCode: codes.split('\n').find(Boolean) ?? '' }
}

const addPasskey = async (host: Host): Promise<Holdings['passkey']> => {
  const authenticator = createAuthenticator()
  const browser = new RawBrowser(host.app)
  const list = await browser.signIn(await browser.open(`/oauth${passkeysPath}`), names.cyd, password)
  await browser.submit(list, 'id="passkey"', { passkey: authenticator.create(askedBy(list)) })
  return authenticator.kept()
}

const personalToken = async ({ oauth }: Host, subject: string): Promise<string> => {
  const server = await serverBehind(oauth)!.ready()
  const sid = await standingLogin(server.database, subject, server.now())
  const expiresAt = server.now() + 30 * 86_400
  const client = { clientId: 'personal:new', metadata: noClient }
  const scopes = ['notes:read']
  const asked = { client, scopes, organization: undefined, acr: undefined, step: 'personal_token' } as const
  const { user } = await allowedUser(server, undefined, {
    ...asked,
    user: (await server.users.find(subject))!,
  })
  const choice = { user, sid, name: 'Backup script', scopes, expiresAt }
  const made = await issuePersonalToken(server, personalTokenOptionIn(server.options)!, choice)
  return made!.value
}

/** What an import of another server, a logo, a developer and a receiver of webhooks leave; making them needs other servers. */
const addRows = async (
  { table }: TestDatabase,
  subject: string,
  now: number,
  importedSecret: string,
): Promise<void> => {
  const imported = await hash(importedSecret, { cost: 4 })
  await table('imported_secrets').insert({ client_id: 'moved', hash: imported })
  await table('clients')
    .where({ client_id: 'moved' })
    .update({ secret_hash: importedMark(imported) })
  const logo = { client_id: 'native', hash: 'a'.repeat(43), type: 'image/png', body: 'iVBORw0KGgo=' }
  await table('client_logos').insert(logo)
  await table('client_owners').insert({
    client_id: 'native',
    subject,
    slot: 1,
    status: 'approved',
    created_at: now,
    requested_at: now,
    approved_at: now,
    revision: 1,
  })
  await table('webhook_endpoints').insert({ name: 'crm', succeeded_at: now })
  const dead = { attempts: 9, failure: 'the answer is 500', dead_at: now, expires_at: now + 90 * 86_400 }
  await table('webhook_deliveries').insert({ endpoint: 'crm', event_id: 'gone', lane: subject, ...dead })
}

const holdingsOf = async (host: Host): Promise<Holdings> => {
  const browser = new RawBrowser(host.app)
  const grant = (address: string) => browser.grant(address, names.ada, password)
  const first = codeOf(await grant(authorizeUrl({ client_id: 'web', scope })))
  const tokens = await answerOf(redeem(host, first))
  const next = await answerOf(refresh(host, tokens.refresh_token))
  const subject = String(claimsOf(tokens.id_token).sub)
  const server = await serverBehind(host.oauth)!.ready()
  const importedSecret = 'the secret of this client at another server'
  await addRows(host.database, subject, server.now(), importedSecret)

  const pairwise = codeOf(await grant(authorizeUrl({ client_id: 'pairwise', scope: 'openid' })))
  const ofPairwise = await answerOf(redeem(host, pairwise, { client_id: 'pairwise' }))
  const forFiles = codeOf(await grant(authorizePath([files], { scope: 'openid files:read' })))
  const ofFiles = await answerOf(redeem(host, forFiles, { resource: files }))

  const device = await codesFor(host)
  await connect(browser, device.user_code, { email: names.ada, password })
  const request = { ...web, response_type: 'code', redirect_uri: callback, scope: 'openid' }
  const pushed = await supertest(host.app).post('/oauth/par').type('form').send(request).expect(201)
  const members = { redirect_uris: [callback], token_endpoint_auth_method: 'none' }
  const registered = await supertest(host.app).post('/oauth/register').send(members).expect(201)

  const stranger = new RawBrowser(host.app)
  const wrong = await stranger.open(authorizeUrl({ client_id: 'web', scope: 'openid' }))
  await stranger.signIn(wrong, 'nobody@example.com', 'wrong')
  const dan = new RawBrowser(host.app)
  const code = codeOf(await dan.grant(authorizeUrl({ client_id: 'web', scope }), names.dan, password))
  const { id_token, access_token: revokedToken } = await answerOf(redeem(host, code))
  await host.oauth.users.revokeAll(String(claimsOf(id_token).sub))

  const login = authorizeUrl({ client_id: 'web', scope: 'openid' })
  const waiting = new RawBrowser(host.app)
  const page = await waiting.open(login)
  const enrolled = await enrol(host)
  const halfway = new RawBrowser(host.app)
  const asking = await halfway.signIn(await halfway.open(login), names.bob, password)
  return {
    subject,
    pairwiseSubject: String(claimsOf(ofPairwise.id_token).sub),
    ...enrolled,
    halfway: { cookies: cookiesOf(halfway), url: asking.url.href },
    passkey: await addPasskey(host),
    personalToken: await personalToken(host, subject),
    accessToken: next.access_token,
    jwtAccessToken: ofFiles.access_token,
    refreshToken: next.refresh_token,
    idToken: tokens.id_token,
    revokedToken,
    deviceCode: device.device_code,
    requestUri: pushed.body.request_uri,
    registration: { clientId: registered.body.client_id, token: registered.body.registration_access_token },
    importedSecret,
    waiting: { cookies: cookiesOf(waiting), url: page.url.href },
    code: codeOf(await grant(authorizeUrl({ client_id: 'web', scope }))),
    cookies: cookiesOf(browser),
  }
}

/**
 * Makes a database of this version in which there is something of each kind.
 *
 * @param version the version in `package.json`
 */
export const record = async (version: string): Promise<Recorded> => {
  const database = openTestDatabase()
  const { knex, tablePrefix } = database
  const host = await startRecorded(database, true)
  const users = Object.values(names).map((username) => ({ username, email: username, password }))
  await seedUsers(knex, users, { database: { tablePrefix } })
  const holdings = await holdingsOf(host)
  await serverBehind(host.oauth)!.eventLog!.settled()
  const created: { name: string }[] = await knex('sqlite_master').where({ type: 'table' }).orderBy('rowid')
  const own = created
    .map(({ name }) => name)
    .filter((name) => name.startsWith(tablePrefix) && !/_migrations(_lock)?$/.test(name))
  const tables = []
  for (const name of own) {
    const columns = Object.keys(await knex(name).columnInfo()).sort()
    tables.push({ name: name.slice(tablePrefix.length), columns, rows: await knex(name).select() })
  }
  const recordedAt = Math.floor(Date.now() / 1000)
  await host.close()
  return { version, recordedAt, migrations: [...migrations.keys()], tables, holdings }
}
