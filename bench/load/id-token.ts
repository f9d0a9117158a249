import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { type Answer, expect } from './http.ts'
import { clientIdOf, type Worker } from './worker.ts'

const decoded = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))

/** Public keys by origin and `kid`, read when a worker is prepared. */
const keys = new Map<string, KeyObject>()

/** Reads the public keys of a server with discovery. */
export const learnKeys = async (worker: Worker): Promise<void> => {
  const { discovery } = worker.contestant.paths
  if (discovery === undefined || worker.contestant.server === 'ceiling') return
  const metadata = (await (await fetch(`${worker.base}${discovery}`)).json()) as { jwks_uri: string }
  const jwks = (await (await fetch(metadata.jwks_uri)).json()) as { keys: { kid: string }[] }
  for (const jwk of jwks.keys) {
    keys.set(`${worker.base} ${jwk.kid}`, createPublicKey({ key: { ...jwk }, format: 'jwk' }))
  }
}

// Verifying every signature would cost the load generator too much.
const every = 50
let seen = 0

/** Checks header and claims of each ID token, and the signature of every fiftieth. */
export const checkIdToken = (worker: Worker, value: unknown, answer: Answer, nonce?: string): void => {
  const [head = '', body = '', signature = ''] = String(value).split('.')
  expect(signature !== '', 'id_token', answer)
  const { alg, kid } = decoded(head)
  const claims = decoded(body)
  expect(alg === worker.algorithm, 'alg of the ID token', answer)
  expect(claims.sub === String(worker.person.id), 'sub of the ID token', answer)
  expect(claims.aud === clientIdOf(worker), 'aud of the ID token', answer)
  expect(claims.email === worker.person.email, 'email of the ID token', answer)
  expect(nonce === undefined || claims.nonce === nonce, 'nonce of the ID token', answer)
  seen += 1
  const key = keys.get(`${worker.base} ${kid}`)
  if (key === undefined || seen % every !== 0) return
  const bytes = Buffer.from(`${head}.${body}`)
  const isSigned = verify(
    'sha256',
    bytes,
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  expect(isSigned, 'signature of the ID token', answer)
}
