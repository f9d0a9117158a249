import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import express from 'express'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import supertest from 'supertest'
import { type AuthRouterOptions, authRouter, type ClientSeed } from '../../lib/index.ts'
import { replaceKeys } from '../../lib/keys/key-rotation.ts'
import { signingAlgorithms } from '../../lib/protocol/clients/client-metadata.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { openCommandLine } from '../support/command-line.ts'
import { openTestDatabase } from '../support/database.ts'
import { authorizeUrl, callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { testsAll } from '../support/sample.ts'
import { answerOf, refresh, tokensFor } from '../support/tokens.ts'

const minute = 60
const hour = 3600
/** A successor every three hours, published for twenty minutes before it signs. */
const lifetimes = { signingKey: 3 * hour, signingKeyLead: 20 * minute, idToken: hour }
const aClient = { client_secret: secret, redirect_uris: [callback] }

/** One client for each algorithm, named as it is. */
const signedClients: ClientSeed[] = signingAlgorithms.map((algorithm) => ({
  ...aClient,
  client_id: algorithm,
  id_token_signed_response_alg: algorithm,
}))

let host: Host
let clock: Clock
const start = (changed: Partial<AuthRouterOptions['lifetimes']> = {}): Promise<Host> =>
  startHost({
    clients: [...clients, ...signedClients],
    options: { lifetimes: { ...lifetimes, ...changed } },
  })
beforeEach(() => {
  clock = stopClock()
})
afterEach(() => jest.restoreAllMocks())

type KeySet = ReturnType<typeof createLocalJWKSet>
type Serving = Pick<Host, 'app'>

const jwksResponse = (of: Serving = host) => supertest(of.app).get('/oauth/jwks')
const jwks = async (of?: Serving): Promise<JSONWebKeySet> => (await jwksResponse(of)).body
const kids = async (algorithm: string, of?: Serving): Promise<(string | undefined)[]> =>
  (await jwks(of)).keys.filter(({ alg }) => alg === algorithm).map(({ kid }) => kid)
const kidOf = (idToken: string): string | undefined => decodeProtectedHeader(idToken).kid

/** Whether the server reads an ID token that a client sends back. */
const isHint = async (idToken: string): Promise<boolean> => {
  const asked = { client_id: 'web', scope: 'openid', prompt: 'none', id_token_hint: idToken }
  const { headers } = await supertest(host.app).get(authorizeUrl(asked))
  expect(headers.location).toContain('error=login_required')
  return !String(headers.location).includes('id_token_hint')
}

const verify = (idToken: string, keys: KeySet) =>
  jwtVerify(idToken, keys, { issuer, currentDate: new Date(clock.now() * 1000) })

/** Waits until the work that a request began in the background is done. */
const settle = async (): Promise<void> => {
  await jwksResponse()
  await host.oauth.close()
}

describe('the keys of a server', () => {
  beforeAll(async () => {
    host = await start()
  })
  afterAll(() => host.close())

  test.each(signingAlgorithms)('a client logs in with ID tokens signed by %s', async (algorithm) => {
    const { body } = await supertest(host.app).get('/oauth/.well-known/openid-configuration')
    expect(body.id_token_signing_alg_values_supported).toContain(algorithm)
    const tokens = await tokensFor(host, { client_id: algorithm }, { client_id: algorithm })
    const { payload, protectedHeader } = await verify(tokens.id_token, createLocalJWKSet(await jwks()))
    expect(protectedHeader).toEqual({ alg: algorithm, typ: 'JWT', kid: (await kids(algorithm))[0] })
    // OIDC Core §3.1.3.6: the hash of the signature's algorithm; Ed25519 is made with SHA-512 (RFC 8032 §5.1).
    const digest = createHash(algorithm === 'EdDSA' ? 'sha512' : 'sha256')
      .update(tokens.access_token)
      .digest()
    expect(payload.at_hash).toBe(digest.subarray(0, digest.length / 2).toString('base64url'))
  })

  test.each(['/oauth/jwks', '/oauth/.well-known/openid-configuration'])(
    '%s may be cached, and is requested again by its tag',
    async (path) => {
      const get = () => supertest(host.app).get(path)
      const first = await get()
      expect(first.headers).toMatchObject({
        'cache-control': 'public, max-age=300',
        'content-type': 'application/json',
        'access-control-allow-origin': '*',
        etag: expect.stringMatching(/^"[\w-]{22}"$/),
      })
      const etag = String(first.headers.etag)
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get().set('If-None-Match', tag)
        expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' })
        expect(again.headers).toMatchObject({ etag, 'cache-control': first.headers['cache-control'] })
      }
      expect((await get().set('If-None-Match', '"other"')).body).toEqual(first.body)
      const head = await supertest(host.app).head(path)
      expect(head.headers).toMatchObject({ etag, 'content-length': first.headers['content-length'] })
      expect(head.text).toBeUndefined()
      expect((await supertest(host.app).head(path).set('If-None-Match', etag)).status).toBe(304)
    },
  )

  test('a lead too short for any cache turns caching off', async () => {
    const options = { lifetimes: { ...lifetimes, signingKeyLead: 2 } }
    const brief = await startHost({ database: host.database, options })
    expect((await jwksResponse(brief)).headers['cache-control']).toBe('public, max-age=0')
  })
})

describe('a rotation by age', () => {
  afterEach(() => host.close())

  test('publishes a key, waits, signs with it, and removes the old one, which still verifies hints', async () => {
    // The JWT access tokens that a key signed last longer than its ID tokens here.
    host = await start({ idToken: minute, jwtAccessToken: hour })
    const [old] = await kids('RS256')
    const { etag } = (await jwksResponse()).headers
    clock.travel(3 * hour)
    const published = await jwksResponse().set('If-None-Match', String(etag))
    expect(published.status).toBe(200)
    expect(published.body.keys).toHaveLength(2 * signingAlgorithms.length)
    const [first, successor] = await kids('RS256')
    expect(first).toBe(old)
    clock.travel(lifetimes.signingKeyLead - 1)
    const { id_token: last } = await tokensFor(host)
    expect(kidOf(last)).toBe(old)
    clock.travel(1)
    expect(kidOf((await tokensFor(host)).id_token)).toBe(successor)
    clock.travel(lifetimes.signingKeyLead)
    await settle()
    clock.travel(hour - minute)
    expect(await kids('RS256')).toEqual([old, successor])
    clock.travel(2 * minute)
    await settle()
    expect(await kids('RS256')).toEqual([successor])

    expect(await isHint(last)).toBe(true)
    const [header, claims] = last.split('.')
    expect(await isHint(`${header}.${claims}.${Buffer.alloc(256).toString('base64url')}`)).toBe(false)
  })

  test('is not noticed by clients that keep the keys as long as they may', async () => {
    const brief = { signingKey: hour, idToken: hour / 2 }
    host = await start(brief)
    // One process does the work; the other one only publishes keys, now and then.
    const options = { lifetimes: { ...lifetimes, ...brief } }
    const other = await startHost({ database: host.database, options })
    const none = createLocalJWKSet({ keys: [] })
    const caches = [host, host, other].map((from) => ({ from, keys: none, until: 0 }))
    const algorithms = testsAll ? signingAlgorithms : (['RS256', 'EdDSA'] as const)
    const parameters = { scope: 'openid offline_access', prompt: 'consent' }
    const families = await Promise.all(
      algorithms.map(async (client_id) => ({
        client_id,
        tokens: await tokensFor(host, { client_id, ...parameters }, { client_id }),
      })),
    )
    const seen = new Set<string>()
    const failures: string[] = []
    let living: string[] = []
    for (let step = 0; step < 28; step += 1) {
      clock.travel(290)
      // They fetch at different moments, and never because of a key that they do not know.
      for (const [index, cache] of caches.entries()) {
        if (cache.until > clock.now() && step % (index + 2) !== 0) continue
        const res = await jwksResponse(cache.from)
        cache.keys = createLocalJWKSet(res.body)
        cache.until = clock.now() + Number(/max-age=(\d+)/.exec(String(res.headers['cache-control']))?.[1])
      }
      for (const family of families) {
        const { client_id, tokens } = family
        family.tokens = await answerOf(refresh(host, tokens.refresh_token, { client_id }))
        living.push(family.tokens.id_token)
      }
      living = living.filter((idToken) => Number(decodeJwt(idToken).exp) > clock.now())
      for (const idToken of living) {
        const { alg, kid = '' } = decodeProtectedHeader(idToken)
        seen.add(`${alg} ${kid}`)
        for (const [index, { keys }] of caches.entries()) {
          const failed = (error: Error) => failures.push(`step ${step}, cache ${index}: ${alg}: ${error}`)
          await verify(idToken, keys).catch(failed)
        }
      }
    }
    expect(failures).toEqual([])
    // The keys of each algorithm did change meanwhile.
    for (const algorithm of algorithms) {
      expect([...seen].filter((key) => key.startsWith(algorithm)).length).toBeGreaterThanOrEqual(2)
    }
  })

  test('keys that are withdrawn are not published a minute later, and do not verify a hint', async () => {
    host = await start()
    const withdraw = async (): Promise<void> => {
      const { database, options } = serverBehind(host.oauth)!
      await replaceKeys(database, options, { algorithms: ['RS256'], now: clock.now() })
      clock.travel(minute)
    }
    const { refresh_token } = await tokensFor(host, { scope: 'openid offline_access', prompt: 'consent' })
    const before = await kids('RS256')
    await withdraw()
    const { id_token: hint } = await answerOf(refresh(host, refresh_token))
    await verify(hint, createLocalJWKSet(await jwks()))
    expect(await kids('RS256')).toEqual([kidOf(hint)])
    expect(before).not.toContain(kidOf(hint))
    await withdraw()
    expect(await isHint(hint)).toBe(false)
  })
})

describe('processes', () => {
  const commandLine = openCommandLine()
  let folder: string
  let shared: ReturnType<typeof openTestDatabase>
  let config: Omit<AuthRouterOptions, 'logger'>

  beforeAll(async () => {
    folder = commandLine.folder()
    shared = openTestDatabase()
    const url = process.env.DATABASE_URL
    const database =
      url === undefined
        ? { client: 'better-sqlite3', connection: { filename: join(folder, 'keys.sqlite') } }
        : { client: shared.knex.client.config.client, connection: url }
    const { tablePrefix } = shared
    config = {
      issuer,
      database: { knex: database, tablePrefix },
      secrets: ['a secret of the tests that is long enough'],
    }
    const brief = { ...config, lifetimes: { signingKeyLead: 2 } }
    writeFileSync(join(folder, 'latchkey.config.mjs'), `export default ${JSON.stringify(config)}\n`)
    writeFileSync(join(folder, 'brief.config.mjs'), `export default ${JSON.stringify(brief)}\n`)
  })
  afterAll(async () => {
    await shared.close()
    await commandLine.close()
  })

  const cli = (...args: string[]) => commandLine.succeed(folder, args)

  /** Starts a server, and returns the ids of the keys that it publishes. */
  const publishedBy = async (): Promise<(string | undefined)[]> => {
    const oauth = authRouter({ ...config, logger: { info: () => {}, warn: () => {}, error: () => {} } })
    await oauth.ready()
    const { keys } = await jwks({ app: express().use('/oauth', oauth) })
    await oauth.close()
    return keys.map(({ kid }) => kid)
  }

  interface Listed {
    kid: string
    alg: string
    state: string
  }
  const list = async (...args: string[]): Promise<Listed[]> =>
    JSON.parse((await cli('keys', ...args, '--json')).stdout)
  const statesOf = (keys: readonly Listed[], algorithm: string) =>
    keys.filter(({ alg }) => alg === algorithm).map(({ state }) => state)

  test('latchkey keys rotate publishes a successor, --now withdraws what was there', async () => {
    await cli('migrate')
    expect((await cli('keys', 'list')).stderr).toContain('no keys exist yet')
    const [made] = await publishedBy()
    const before = await list('list')
    expect(before.map(({ state }) => state)).toEqual(signingAlgorithms.map(() => 'signing'))
    expect(before.map(({ kid }) => kid)).toContain(made)

    const after = await list('rotate', '--alg', 'RS256')
    expect(statesOf(after, 'RS256')).toEqual(['signing', 'next'])
    expect(statesOf(after, 'ES256')).toEqual(['signing'])
    expect(await list('rotate', '--alg', 'RS256')).toEqual(after)

    const { stdout, stderr } = await cli('keys', 'rotate', '--alg', 'RS256', '--now')
    expect(stderr).toContain('The previous keys are withdrawn')
    expect(stdout).not.toContain(made)
    expect(stdout).toMatch(/^ALG +KEY ID +STATE +SIGNS FROM +PUBLISHED UNTIL\n/)
    expect(await publishedBy()).not.toContain(made)
  })

  test('latchkey keys revoke withdraws one key, and waits for the servers', async () => {
    const before = await list('list')
    expect(statesOf(before, 'RS256')).toEqual(['signing'])
    const [signing] = before.filter(({ alg }) => alg === 'ES256')
    const wait = ['--config', 'brief.config.mjs']
    const { stderr } = await cli('keys', 'revoke', String(signing?.kid), ...wait)
    expect(stderr).toMatch(
      /is withdrawn\nwaiting 2 seconds, until every running server has read the keys again\n/,
    )
    const after = await list('list')
    expect(statesOf(after, 'ES256')).toEqual(['signing'])
    const others = (keys: readonly Listed[]) => keys.filter(({ alg }) => alg !== 'ES256')
    expect(others(after)).toEqual(others(before))
    const again = await commandLine.run(folder, ['keys', 'revoke', String(signing?.kid), '--no-wait'])
    expect({ code: again.code, stderr: again.stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`no signing key has the id ${signing?.kid}`),
    })
  })
})
