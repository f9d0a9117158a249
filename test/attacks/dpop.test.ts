import { createDpopKey, type DpopKey, dpopProof } from '../support/dpop-client.ts'
import { describeOnSampled, openFaultDatabase } from '../support/fault-databases.ts'
import { redemption, refreshing, sharedOptions, signIn, startSharedHost } from '../support/fault-family.ts'
import { type Answer, postForm, tally } from '../support/fault-load.ts'
import { forkServers } from '../support/fault-servers.ts'
import { type Host, issuer, pkce } from '../support/host.ts'
import { web } from '../support/tokens.ts'

// Captured proofs and stolen tokens, at two processes on one database.

const options = { protocol: { dpop: true } }
const crowd = 12
const token = `${issuer}/token`

let servers: Awaited<ReturnType<typeof forkServers>>
let key: DpopKey
let thief: DpopKey
beforeAll(async () => {
  servers = await forkServers(2)
  key = await createDpopKey()
  thief = await createDpopKey()
})
afterAll(() => servers.close())

describeOnSampled('two processes', (kind) => {
  let host: Host
  let origins: string[]
  beforeAll(async () => {
    const database = openFaultDatabase(kind)
    host = await startSharedHost(database, options)
    origins = await servers.start(sharedOptions(database, options))
  })
  afterAll(() => host.close())

  /** The same request at both processes, many times at once. */
  const atOnce = async (send: (origin: string) => Promise<Answer>): Promise<Record<string, number>> =>
    tally(await Promise.all(Array.from({ length: crowd }, (_, index) => send(String(origins[index % 2])))))

  const ask = async (fields: Readonly<Record<string, string>>, by: DpopKey, origin = origins[0]) =>
    postForm(`${origin}/oauth/token`, fields, { DPoP: await dpopProof(by, 'POST', token) })

  test('accept a proof of a token request once', async () => {
    const headers = { DPoP: await dpopProof(key, 'POST', token) }
    const fields = { ...web, grant_type: 'client_credentials' }
    const answers = await atOnce((origin) => postForm(`${origin}/oauth/token`, fields, headers))
    expect(answers).toEqual({ '200 ok': 1, '400 invalid_dpop_proof': crowd - 1 })
  })

  test('accept a proof of a use once, and a token from the other process', async () => {
    const { code } = await signIn(host.app)
    const { body } = await ask(redemption(await code()), key)
    const accessToken = String(body.access_token)
    const headers = {
      Authorization: `DPoP ${accessToken}`,
      DPoP: await dpopProof(key, 'POST', `${issuer}/userinfo`, { token: accessToken }),
    }
    const answers = await atOnce((origin) => postForm(`${origin}/oauth/userinfo`, {}, headers))
    expect(answers).toEqual({ '200 ok': 1, '401 invalid_dpop_proof': crowd - 1 })
  })

  test('bind the refresh tokens of a public client to the key that was first', async () => {
    const { verifier, challenge } = pkce()
    const native = { client_id: 'native', code_challenge: challenge, code_challenge_method: 'S256' }
    const { code } = await signIn(host.app, native)
    const { client_secret: _, ...redeeming } = redemption(await code(), { client_id: 'native' })
    const { body } = await ask({ ...redeeming, code_verifier: verifier }, key)
    const { client_secret: __, ...stolen } = refreshing(body.refresh_token, { client_id: 'native' })
    const refused = await Promise.all(origins.map((origin) => ask(stolen, thief, origin)))
    expect(tally(refused)).toEqual({ '400 invalid_grant': 2 })
    expect(await ask(stolen, key, origins[1])).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
  })
})
