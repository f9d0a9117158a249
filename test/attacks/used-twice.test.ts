import { X509Certificate } from 'node:crypto'
import { device } from '../../lib/features/index.ts'
import type { AuthEvent, ClientSeed } from '../../lib/index.ts'
import { openDatabase } from '../../lib/storage/database/open.ts'
import { findClient } from '../../lib/storage/repositories/index.ts'
import { importRefreshTokens } from '../../lib/tools/import/import-refresh-tokens.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { codesFor, connect, deviceGrant } from '../support/device.ts'
import { createDpopKey, type DpopKey, dpopProof } from '../support/dpop-client.ts'
import { callback, type Host, issuer, pkce, startHost } from '../support/host.ts'
import { selfSigned } from '../support/mutual-tls.ts'
import { RawBrowser } from '../support/raw-browser.ts'
import { codeFor, expectError, type Fields, post } from '../support/tokens.ts'

// What works once is used by two parties: by a thief first, and then by its owner. Whatever key a use adds, the second use is
// noticed, and everything that the first one got ends (RFC 6749 §4.1.2, RFC 9700 §4.14.2).

const grace = 10
const scope = 'openid notes:read offline_access'
const client_id = 'app'
const app: ClientSeed = {
  client_id,
  client_name: 'App',
  token_endpoint_auth_method: 'none',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token', deviceGrant],
  scope,
  first_party: true,
}
const { verifier, challenge } = pkce()

let host: Host
let clock: Clock
/** Ada's browser. */
let agent: RawBrowser
let events: AuthEvent[]
const keys: Partial<Record<'owner' | 'thief', DpopKey>> = {}
const certificates: Partial<Record<'owner' | 'thief', string>> = {}

beforeAll(async () => {
  host = await startHost({
    clients: [app],
    options: {
      limits: false,
      lifetimes: { refreshGracePeriod: grace },
      protocol: { dpop: true, mutualTls: { header: 'Client-Cert' } },
      features: [device()],
    },
  })
  host.app.set('trust proxy', 'loopback')
  host.oauth.events.on('*', (event) => events.push(event))
  agent = new RawBrowser(host.app)
  for (const who of ['owner', 'thief'] as const) {
    keys[who] = await createDpopKey()
    const { raw } = new X509Certificate(selfSigned({ subject: `/CN=${who}` }).cert)
    certificates[who] = `:${raw.toString('base64')}:`
  }
})
afterAll(() => host.close())
beforeEach(() => {
  clock = stopClock()
  events = []
})
afterEach(() => jest.restoreAllMocks())

/** What comes with a request: nothing, a proof of a DPoP key, or a client certificate. */
type Proof = 'none' | `${'key' | 'certificate'} of ${'owner' | 'thief'}`

/** A request of the client to the token endpoint. */
const ask = async (fields: Fields, proof: Proof) => {
  const [kind, , who] = proof.split(' ') as [string, string, 'owner' | 'thief']
  const request = post(host, { client_id, ...fields })
  if (kind === 'key') return request.set('DPoP', await dpopProof(keys[who]!, 'POST', `${issuer}/token`))
  return kind === 'certificate' ? request.set('Client-Cert', certificates[who]!) : request
}

const refreshing = (refresh_token: string): Fields => ({ grant_type: 'refresh_token', refresh_token })

/** Tokens that must be issued. */
const tokensFor = async (fields: Fields, proof: Proof) => {
  const { status, body } = await ask(fields, proof)
  expect({ status, error: body.error_description }).toEqual({ status: 200 })
  return body as { refresh_token: string }
}

const redeeming = async (asked: Fields = {}): Promise<Fields> => ({
  grant_type: 'authorization_code',
  code: await codeFor(
    host,
    { client_id, scope, code_challenge: challenge, code_challenge_method: 'S256', ...asked },
    { agent },
  ),
  redirect_uri: callback,
  code_verifier: verifier,
})

const polling = async (asked: Fields = {}): Promise<Fields> => {
  const { device_code, user_code } = await codesFor(host, { client_id, scope, ...asked })
  await connect(agent, user_code)
  return { grant_type: deviceGrant, device_code }
}

const imported = async (): Promise<Fields> => {
  const { database } = openDatabase(host.database.knex, host.database.tablePrefix)
  const stored = `imported-${clock.now()}-${events.length}-${Math.random()}`
  const registered = await findClient(database, { clientId: client_id, now: clock.now() })
  const batches = async function* () {
    yield [{ clientId: client_id, subject: '1', scopes: scope.split(' '), stored, isHash: false }]
  }
  const options = {
    clients: new Map([[client_id, registered!.metadata]]),
    lifetimes: { refreshTokenIdle: 1000, refreshTokenAbsolute: 5000 },
    dryRun: false,
  }
  await importRefreshTokens({ database, now: clock.now }, batches(), options)
  return refreshing(stored)
}

/** What works once without any proof, as its owner and a thief send it. */
const values: Readonly<Record<string, { issue(): Promise<Fields>; reason: string; wait?: number }>> = {
  'a code': { issue: redeeming, reason: 'code_replayed' },
  'a device code': { issue: polling, reason: 'device_code_replayed' },
  'a refresh token': {
    issue: async () => refreshing((await tokensFor(await redeeming(), 'none')).refresh_token),
    reason: 'refresh_token_replayed',
    wait: grace,
  },
  'a refresh token in its grace period': {
    issue: async () => refreshing((await tokensFor(await redeeming(), 'none')).refresh_token),
    reason: 'refresh_token_replayed',
  },
  'an imported refresh token': { issue: imported, reason: 'refresh_token_replayed', wait: grace },
}

/** What the thief adds, and what the owner sends. */
const uses: readonly [thief: Proof, owner: Proof][] = [
  ['none', 'none'],
  ['none', 'key of owner'],
  ['key of thief', 'none'],
  ['key of thief', 'key of owner'],
  ['certificate of thief', 'certificate of owner'],
]

/** During the grace period a repeated request gets the same answer, whoever sends it. */
const isRepeat = (what: string, [thief, owner]: (typeof uses)[number]) =>
  what.includes('grace') && thief === owner

const table = Object.entries(values).flatMap(([what, value]) =>
  uses.filter((use) => !isRepeat(what, use)).map((use) => ({ what, thief: use[0], owner: use[1], ...value })),
)

const revoked = () =>
  events.flatMap((event) => (event.type === 'authorization.revoked' ? [event.reason] : []))

const requireCertificates = (isOn: boolean) =>
  host.oauth.clients.update(client_id, { tls_client_certificate_bound_access_tokens: isOn })

describe('what a thief uses first ends when its owner uses it', () => {
  test.each(table)('$what: thief $thief, owner $owner', async ({ issue, reason, wait = 0, thief, owner }) => {
    const fields = await issue()
    const isCertificate = thief.startsWith('certificate')
    if (isCertificate) await requireCertificates(true)
    try {
      const stolen = await tokensFor(fields, thief)
      clock.travel(wait)
      expectError(await ask(fields, owner), 400, 'invalid_grant')
      expect(revoked()).toEqual([reason])
      expectError(await ask(refreshing(stolen.refresh_token), thief), 400, 'invalid_grant')
    } finally {
      if (isCertificate) await requireCertificates(false)
    }
  })
})

/** What never worked without the key of its owner. */
const demanding: Readonly<Record<string, () => Promise<Fields>>> = {
  'a code': () => redeeming({ dpop_jkt: keys.owner?.thumbprint }),
  'a device code': () => polling({ dpop_jkt: keys.owner?.thumbprint }),
  'a refresh token': async () =>
    refreshing((await tokensFor(await redeeming(), 'key of owner')).refresh_token),
  'a refresh token that a refresh has bound': async () => {
    const first = await tokensFor(await redeeming(), 'none')
    return refreshing((await tokensFor(refreshing(first.refresh_token), 'key of owner')).refresh_token)
  },
}

describe('who lacks the key without which a value never worked ends nothing', () => {
  test.each(Object.entries(demanding))('%s, before its owner uses it and after', async (_what, issue) => {
    const fields = await issue()
    const steal = async () => {
      for (const proof of ['none', 'key of thief'] as const)
        expectError(await ask(fields, proof), 400, 'invalid_grant')
    }
    await steal()
    const { refresh_token } = await tokensFor(fields, 'key of owner')
    await steal()
    clock.travel(grace)
    await steal()
    expect(revoked()).toEqual([])
    await tokensFor(refreshing(refresh_token), 'key of owner')
  })

  test('but the owner of the key who uses it twice ends it', async () => {
    const fields = await redeeming({ dpop_jkt: keys.owner?.thumbprint })
    const { refresh_token } = await tokensFor(fields, 'key of owner')
    expectError(await ask(fields, 'key of owner'), 400, 'invalid_grant')
    expectError(await ask(refreshing(refresh_token), 'key of owner'), 400, 'invalid_grant')
  })
})

test('of two parties that refresh at one moment with two keys, one is refused and both end', async () => {
  const first = await tokensFor(await redeeming(), 'none')
  const both: Proof[] = ['key of owner', 'key of thief']
  const answers = await Promise.all(both.map((proof) => ask(refreshing(first.refresh_token), proof)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
  expect(revoked()).toEqual(['refresh_token_replayed'])
  for (const [place, { body }] of answers.entries())
    if (body.refresh_token)
      expectError(await ask(refreshing(body.refresh_token), both[place]!), 400, 'invalid_grant')
})

test('a repeat in the grace period with the key of the first use gets the same successor', async () => {
  const first = await tokensFor(await redeeming(), 'none')
  const answers = [1, 2].map(() => tokensFor(refreshing(first.refresh_token), 'key of owner'))
  const [one, other] = await Promise.all(answers)
  expect(other?.refresh_token).toBe(one?.refresh_token)
  await tokensFor(refreshing(String(one?.refresh_token)), 'key of owner')
})
