import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import supertest from 'supertest'
import type { ClientSeed } from '../../lib/index.ts'
import { replaceKeys } from '../../lib/keys/key-rotation.ts'
import { signingAlgorithms } from '../../lib/protocol/client-metadata.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { openCommandLine } from '../support/command-line.ts'
import { compiledPackage } from '../support/compiled.ts'
import { openTestDatabase } from '../support/database.ts'
import { callback, clients, type Host, issuer, secret, startHost } from '../support/host.ts'
import { answerOf, refresh, tokensFor } from '../support/tokens.ts'

jest.setTimeout(60_000)

const minute = 60
const hour = 3600
/** A successor every three hours, published for twenty minutes before it signs. */
const lifetimes = { signingKey: 3 * hour, signingKeyLead: 20 * minute, idToken: hour }

/** One client for each algorithm, named as it is. */
const signedClients: ClientSeed[] = signingAlgorithms.map((algorithm) => ({
  client_id: algorithm,
  client_secret: secret,
  redirect_uris: [callback],
  id_token_signed_response_alg: algorithm,
}))

let host: Host
let clock: Clock
beforeEach(async () => {
  clock = stopClock()
  host = await startHost({ clients: [...clients, ...signedClients], options: { lifetimes } })
})
afterEach(async () => {
  await host.close()
  jest.restoreAllMocks()
})

type KeySet = ReturnType<typeof createLocalJWKSet>
type Serving = Pick<Host, 'app'>

const jwksResponse = (of: Serving = host) => supertest(of.app).get('/oauth/jwks')
const jwks = async (of?: Serving): Promise<JSONWebKeySet> => (await jwksResponse(of)).body
const kids = async (algorithm: string, of?: Serving): Promise<(string | undefined)[]> =>
  (await jwks(of)).keys.filter(({ alg }) => alg === algorithm).map(({ kid }) => kid)

const verify = (idToken: string, keys: KeySet) =>
  jwtVerify(idToken, keys, { issuer, currentDate: new Date(clock.now() * 1000) })

/** Requests until what began beside one of them is done. */
const settle = async (of: Pick<Host, 'oauth'> & Serving = host): Promise<void> => {
  await jwksResponse(of)
  await of.oauth.close()
}

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

describe('the documents', () => {
  test.each(['/oauth/jwks', '/oauth/.well-known/openid-configuration'])(
    '%s may be kept for a while, and is asked for again by its tag',
    async (path) => {
      const get = () => supertest(host.app).get(path)
      const first = await get()
      expect(first.headers).toMatchObject({
        'cache-control': expect.stringMatching(/^public, max-age=[1-9]\d*$/),
        'content-type': 'application/json',
        'access-control-allow-origin': '*',
        etag: expect.stringMatching(/^"[\w-]{22}"$/),
      })
      const etag = String(first.headers.etag)
      expect((await get()).headers.etag).toBe(etag)
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get().set('If-None-Match', tag)
        expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' })
        expect(again.headers).toMatchObject({ etag, 'cache-control': first.headers['cache-control'] })
      }
      expect((await get().set('If-None-Match', '"other"')).body).toEqual(first.body)
      const head = await supertest(host.app).head(path)
      expect(head.headers).toMatchObject({ etag, 'content-length': first.headers['content-length'] })
      expect(head.text).toBeUndefined()
      const unchanged = await supertest(host.app).head(path).set('If-None-Match', etag)
      expect(unchanged.status).toBe(304)
    },
  )

  test('the keys get another tag when they are others', async () => {
    const { etag } = (await jwksResponse()).headers
    clock.travel(3 * hour)
    const res = await jwksResponse().set('If-None-Match', String(etag))
    expect(res.status).toBe(200)
    expect(res.body.keys).toHaveLength(2 * signingAlgorithms.length)
  })

  test('a lead too short for any cache turns caching off', async () => {
    const options = { lifetimes: { ...lifetimes, signingKeyLead: 2 } }
    const brief = await startHost({ database: host.database, options })
    expect((await jwksResponse(brief)).headers['cache-control']).toBe('public, max-age=0')
    expect((await jwksResponse()).headers['cache-control']).toBe(`public, max-age=300`)
  })
})

describe('a rotation by age', () => {
  test('publishes, waits, signs, keeps and removes', async () => {
    const [old] = await kids('RS256')
    const signedBy = async () => decodeProtectedHeader((await tokensFor(host)).id_token).kid

    clock.travel(3 * hour)
    expect(await kids('RS256')).toEqual([old, expect.any(String)])
    const [, successor] = await kids('RS256')
    clock.travel(lifetimes.signingKeyLead - 1)
    const { id_token: last } = await tokensFor(host)
    expect(decodeProtectedHeader(last).kid).toBe(old)
    clock.travel(1)
    expect(await signedBy()).toBe(successor)

    clock.travel(hour - 2)
    await verify(last, createLocalJWKSet(await jwks()))
    await settle()
    clock.travel(hour)
    await settle()
    expect(await kids('RS256')).toEqual([successor])
  })

  test('keeps a key as long as the JWT access tokens that it signed', async () => {
    const longer = { ...lifetimes, idToken: minute, jwtAccessToken: hour }
    const issuing = await startHost({ options: { lifetimes: longer } })
    const [old] = await kids('RS256', issuing)
    for (const seconds of [3 * hour, lifetimes.signingKeyLead, lifetimes.signingKeyLead]) {
      clock.travel(seconds)
      await settle(issuing)
    }
    clock.travel(hour - minute)
    expect(await kids('RS256', issuing)).toContain(old)
    clock.travel(2 * minute)
    await settle(issuing)
    expect(await kids('RS256', issuing)).not.toContain(old)
  })

  test('an ID token of a removed key still identifies the user at logout', async () => {
    const { id_token } = await tokensFor(host)
    for (const step of [3 * hour, hour, 2 * hour, hour]) {
      clock.travel(step)
      await settle()
    }
    expect(await kids('RS256')).not.toContain(decodeProtectedHeader(id_token).kid)
    const logout = (hint: string) =>
      supertest(host.app).get('/oauth/logout').query({ id_token_hint: hint, client_id: 'web' })
    expect((await logout(id_token)).status).toBe(200)
    const [header, claims] = id_token.split('.')
    expect((await logout(`${header}.${claims}.${Buffer.alloc(256).toString('base64url')}`)).status).toBe(400)
  })

  test('is not noticed by clients that keep the keys as long as they may', async () => {
    // One process does the work, the other one is asked for keys only, now and then.
    const other = await startHost({ database: host.database, options: { lifetimes } })
    const none = createLocalJWKSet({ keys: [] })
    const caches = [host, host, other].map((from) => ({ from, keys: none, until: 0 }))
    const algorithms = process.env.TEST_ALL === '1' ? signingAlgorithms : (['RS256', 'EdDSA'] as const)
    const scope = 'openid offline_access'
    const parameters = { scope, prompt: 'consent' }
    const families = await Promise.all(
      algorithms.map(async (client_id) => ({
        client_id,
        tokens: await tokensFor(host, { client_id, ...parameters }, { client_id }),
      })),
    )
    const seen = new Set<string>()
    const failures: string[] = []
    let living: string[] = []
    for (let step = 0; step < 62; step += 1) {
      clock.travel(290)
      // They fetch at different moments, and never because of a key that they do not know.
      for (const [index, cache] of caches.entries()) {
        if (cache.until > clock.now() && step % (index + 2) !== 0) continue
        const res = await jwksResponse(cache.from)
        cache.keys = createLocalJWKSet(res.body)
        cache.until = clock.now() + Number(/max-age=(\d+)/.exec(String(res.headers['cache-control']))?.[1])
      }
      await Promise.all(
        families.map(async (family) => {
          const { client_id, tokens } = family
          family.tokens = await answerOf(refresh(host, tokens.refresh_token, { client_id }))
          living.push(family.tokens.id_token)
        }),
      )
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
})

describe('keys that are withdrawn, in a process that was idle for a minute', () => {
  const withdraw = async (): Promise<void> => {
    const { database, options } = serverBehind(host.oauth)!
    await replaceKeys(database, options, { algorithms: signingAlgorithms, now: clock.now() })
    clock.travel(minute)
  }

  test('are not published', async () => {
    const before = await jwks()
    await withdraw()
    const { keys } = await jwks()
    expect(keys).toHaveLength(signingAlgorithms.length)
    for (const { kid } of before.keys) expect(keys.map((key) => key.kid)).not.toContain(kid)
  })

  test('neither sign nor vouch for a hint', async () => {
    const scope = 'openid offline_access'
    const { refresh_token } = await tokensFor(host, { scope, prompt: 'consent' })
    await withdraw()
    const { id_token: hint } = await answerOf(refresh(host, refresh_token))
    await verify(hint, createLocalJWKSet(await jwks()))
    await withdraw()
    const logout = supertest(host.app).get('/oauth/logout').query({ id_token_hint: hint })
    expect((await logout).status).toBe(400)
  })
})

test('with keys that no secret opens nothing is served, and nothing is made', async () => {
  const stored = () => host.database.knex(`${host.database.tablePrefix}signing_keys`).select()
  const before = await stored()
  const secrets = ['another secret of at least 32 bytes']
  const starting = startHost({ database: host.database, options: { secrets } })
  await expect(starting).rejects.toThrow(/none of the option secrets decrypts/)
  expect(await stored()).toEqual(before)
})

describe('processes', () => {
  const commandLine = openCommandLine()
  let folder: string
  let shared: ReturnType<typeof openTestDatabase>

  beforeAll(async () => {
    folder = commandLine.folder()
    shared = openTestDatabase()
    const url = process.env.DATABASE_URL
    const database =
      url === undefined
        ? { client: 'better-sqlite3', connection: { filename: join(folder, 'keys.sqlite') } }
        : { client: shared.knex.client.config.client, connection: url }
    const { tablePrefix } = shared
    const config = { issuer, database, tablePrefix, secrets: ['a secret of the tests that is long enough'] }
    const brief = { ...config, lifetimes: { signingKeyLead: 4 } }
    writeFileSync(join(folder, 'latchkey.config.mjs'), `export default ${JSON.stringify(config)}\n`)
    writeFileSync(join(folder, 'brief.config.mjs'), `export default ${JSON.stringify(brief)}\n`)
    await cli('migrate')
  })
  afterAll(async () => {
    await shared.close()
    await commandLine.close()
  })

  const cli = (...args: string[]) => commandLine.succeed(folder, args)

  /** Starts a server so many days from now, and gives the ids of the keys that it publishes. */
  const start = async (days: number): Promise<string[]> => {
    const program = `
      import { createAuthorizationServer } from '${compiledPackage()}/lib/authorization-server.js'
      import { resolveOptions } from '${compiledPackage()}/lib/options/resolve.js'
      import config from '${folder}/latchkey.config.mjs'
      const real = Date.now
      Date.now = () => real() + ${days} * 86_400_000
      const logger = { info: () => {}, warn: () => {}, error: console.error }
      const server = await createAuthorizationServer(resolveOptions({ ...config, logger }), []).ready()
      console.log(JSON.stringify(server.keys.jwks.keys.map(({ kid }) => kid)))
      await server.close()`
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder })
    return JSON.parse(stdout)
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
    await cli('rollback', '--yes')
    await cli('migrate')
    expect((await cli('keys', 'list')).stderr).toContain('no keys exist yet')
    const [made] = await start(0)
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
    expect(statesOf(await list('list'), 'RS256')).toEqual(['signing'])
    expect(await start(0)).not.toContain(made)
  })

  test('latchkey keys revoke withdraws one key, and waits for the servers', async () => {
    await start(0)
    const before = await list('list')
    const [signing] = before.filter(({ alg }) => alg === 'ES256')
    const config = ['--config', 'brief.config.mjs']
    const { stderr } = await cli('keys', 'revoke', String(signing?.kid), ...config)
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
