import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, SignJWT } from 'jose'
import type supertest from 'supertest'
import { type Claims, type ClientKey, createClientKey } from './signing-client.ts'

/** A key of a client with its thumbprint. */
export interface DpopKey extends ClientKey {
  readonly thumbprint: string
}

export const createDpopKey = async (alg = 'ES256'): Promise<DpopKey> => {
  const key = await createClientKey(alg)
  return { ...key, thumbprint: await calculateJwkThumbprint(key.publicJwk) }
}

/** A proof as it should be (RFC 9449 §4.2), except where claims or header say otherwise; undefined leaves one out. */
export const dpopProof = (
  key: DpopKey,
  method: string,
  url: string,
  { token, claims, header }: { token?: string; claims?: Claims; header?: Claims } = {},
): Promise<string> => {
  const ath = token === undefined ? undefined : createHash('sha256').update(token).digest('base64url')
  const usual = { jti: randomUUID(), htm: method, htu: url, iat: Math.floor(Date.now() / 1000), ath }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: key.alg, jwk: key.publicJwk, ...header } as never)
    .sign(key.privateKey)
}

/** A request with a token that is bound to a key, and a new proof. */
export const withProof = async (
  request: supertest.Test,
  key: DpopKey,
  url: string,
  token: string,
  claims: Claims = {},
): Promise<supertest.Response> =>
  request
    .set('Authorization', `DPoP ${token}`)
    .set('DPoP', await dpopProof(key, request.method, url, { token, claims }))
