// Five processes of one host, such as five windows of an assistant, share a login. Each finds its access token expired at the
// same moment, and refreshes with the official client at one of two server processes: 5 rounds on SQLite and one
// server. 20 rounds found nothing more.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOnSampled, type FaultDatabase, openFaultDatabase } from '../support/fault-databases.ts'
import {
  postToken,
  redemption,
  sharedOptions,
  signIn,
  startSharedHost,
  userinfoStatus,
} from '../support/fault-family.ts'
import { forkServers } from '../support/fault-servers.ts'
import { type Host, issuer, pkce } from '../support/host.ts'

const windows = 5
const rounds = 5
const client_id = 'native'

let servers: Awaited<ReturnType<typeof forkServers>>
let children: ChildProcess[]
let folder: string
let file: string

const tell = async (child: ChildProcess, message: object): Promise<Record<string, string>> => {
  const answer = once(child, 'message')
  child.send(message)
  const [told] = await answer
  return told
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-windows-'))
  file = join(folder, 'tokens.json')
  servers = await forkServers(2)
  const program = join(__dirname, '../mcp-hosts/programs/refresher.mjs')
  children = Array.from({ length: windows }, () => fork(program, [file, client_id], { execArgv: [] }))
  await Promise.all(children.map((child) => once(child, 'message')))
})
afterAll(async () => {
  for (const child of children) child.kill()
  await servers.close()
  rmSync(folder, { recursive: true })
})

describeOnSampled('five processes of one host', (kind) => {
  let database: FaultDatabase
  let host: Host
  let origins: string[]
  beforeAll(async () => {
    database = openFaultDatabase(kind)
    host = await startSharedHost(database)
    origins = await servers.start(sharedOptions(database))
  })
  afterAll(() => host.close())

  const kept = () => JSON.parse(readFileSync(file, 'utf8'))
  const access = (token: string) => Promise.all(origins.map((origin) => userinfoStatus(origin, token)))
  const expire = () => database.table('access_tokens').update({ expires_at: 1 })

  test('refresh at once, repeatedly, and stay logged in; a stolen token still ends the family', async () => {
    const [origin = ''] = origins
    const { verifier, challenge } = pkce()
    const ada = await signIn(host.app, {
      client_id,
      scope: 'openid offline_access',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const redeemed = { client_id, client_secret: '', code_verifier: verifier }
    const { client_secret: _, ...form } = redemption(await ada.code(), redeemed)
    const { status, body } = await postToken(origin, form)
    expect(status).toBe(200)
    writeFileSync(file, JSON.stringify(body))
    const stolen = body.refresh_token

    for (let round = 1; round <= rounds; round += 1) {
      await expire()
      expect(await access(kept().access_token)).toEqual([401, 401])
      await Promise.all(children.map((child) => tell(child, { read: true })))
      const answers = await Promise.all(
        children.map((child, index) => tell(child, { issuer, origin: origins[index % origins.length] })),
      )
      // All of them hold the one successor.
      const successors = new Set(answers.map((answer) => answer.refresh_token ?? answer.error))
      expect({ round, successors: [...successors] }).toEqual({
        round,
        successors: [expect.stringMatching(/^lk_rt_[\w-]{43}$/)],
      })
      expect(await access(kept().access_token)).toEqual([200, 200])
    }

    // Long after the grace period.
    await database.table('refresh_tokens').whereNotNull('consumed_at').update({ consumed_at: 1 })
    const refresh = (refresh_token: unknown) =>
      postToken(origin, { grant_type: 'refresh_token', client_id, refresh_token: String(refresh_token) })
    expect(await refresh(stolen)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(await refresh(kept().refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    expect(await access(kept().access_token)).toEqual([401, 401])
  })
})
