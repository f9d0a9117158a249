import { createPrivateKey } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type SigningKey, signJwt } from '../lib/keys/jwt.ts'
import { signingAlgorithms } from '../lib/protocol/clients/client-metadata.ts'

// Microseconds for each signature of an ID token: elapsed time, and processor time of all threads.
// Run: npx tsx bench/signing.ts

const claims = {
  iss: 'https://app.example.com/oauth',
  sub: '1',
  aud: 'web',
  exp: 1_800_003_600,
  iat: 1_800_000_000,
  auth_time: 1_800_000_000,
  nonce: 'n-0S6_WzA2Mj',
  amr: ['pwd'],
  sid: 'x'.repeat(43),
  at_hash: 'y'.repeat(22),
}

interface Measurement {
  readonly wall: number
  readonly processor: number
}

const measure = async (
  work: () => Promise<unknown>,
  { runs, atOnce }: { runs: number; atOnce: number },
): Promise<Measurement> => {
  for (let run = 0; run < 100; run += 1) await work()
  const [start, used] = [process.hrtime.bigint(), process.cpuUsage()]
  const worker = async (): Promise<void> => {
    for (let run = 0; run < runs / atOnce; run += 1) await work()
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const { user, system } = process.cpuUsage(used)
  const wall = Number(process.hrtime.bigint() - start) / 1000
  return { wall: Math.round(wall / runs), processor: Math.round((user + system) / runs) }
}

const rows: Record<string, string | number>[] = []
for (const algorithm of signingAlgorithms) {
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(pair.privateKey)
  const key: SigningKey = {
    kid: 'k'.repeat(43),
    algorithm,
    privateKey: createPrivateKey({ key: { ...jwk }, format: 'jwk' }),
  }
  const header = { alg: algorithm, kid: key.kid, typ: 'JWT' }
  const ways = {
    'node:crypto': () => signJwt(key, claims),
    jose: () => new SignJWT(claims).setProtectedHeader(header).sign(pair.privateKey),
  }
  for (const atOnce of [1, 8]) {
    for (const [by, work] of Object.entries(ways)) {
      rows.push({ algorithm, by, atOnce, ...(await measure(work, { runs: 2000, atOnce })) })
    }
  }
}
console.table(rows)
