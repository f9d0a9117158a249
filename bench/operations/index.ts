import type { Paths } from '../contestants.ts'
import type { Prepare } from '../load/worker.ts'
import type { Algorithm } from '../registrations.ts'
import { authorizationCode } from './authorization-code.ts'
import { clientCredentials } from './client-credentials.ts'
import { discovery } from './discovery.ts'
import { firstVisit } from './first-visit.ts'
import { guardedByJwt } from './guarded-by-jwt.ts'
import { guardedRoute } from './guarded-route.ts'
import { introspection } from './introspection.ts'
import { keySet } from './key-set.ts'
import { refreshToken } from './refresh-token.ts'
import { userinfo } from './userinfo.ts'

/** An operation to measure. */
export interface Operation {
  readonly name: string
  readonly prepare: Prepare
  /** The endpoint that the operation needs. */
  readonly needs: keyof Paths
  /** Only for servers that issue ID tokens. */
  readonly openid?: boolean
  /** Only for servers that ask for consent on a page. */
  readonly asksConsent?: boolean
  readonly algorithm: Algorithm
  /** The goal of Latchkey on SQLite: its rate divided by the reference's. */
  readonly aim?: number
  /** The maximum of own statements: without transactions, session store and the host's users. */
  readonly statements?: number
}

const es256 = { algorithm: 'ES256' } as const

export const operations: readonly Operation[] = [
  { name: 'code flow', prepare: authorizationCode, needs: 'authorize', aim: 3, statements: 8, ...es256 },
  {
    name: 'code flow, RS256',
    prepare: authorizationCode,
    needs: 'authorize',
    openid: true,
    algorithm: 'RS256',
  },
  {
    name: 'first visit',
    prepare: firstVisit,
    needs: 'authorize',
    asksConsent: true,
    aim: 3.5,
    statements: 28,
    ...es256,
  },
  { name: 'refresh', prepare: refreshToken, needs: 'token', aim: 2.3, statements: 5, ...es256 },
  {
    name: 'client credentials',
    prepare: clientCredentials,
    needs: 'token',
    aim: 1.8,
    statements: 2,
    ...es256,
  },
  { name: 'userinfo', prepare: userinfo, needs: 'userinfo', aim: 3.3, statements: 2, ...es256 },
  { name: 'introspection', prepare: introspection, needs: 'introspect', aim: 2.5, statements: 3, ...es256 },
  { name: 'discovery', prepare: discovery, needs: 'discovery', aim: 1.6, ...es256 },
  { name: 'key set', prepare: keySet, needs: 'jwks', ...es256 },
  { name: 'guarded route', prepare: guardedRoute, needs: 'guarded', ...es256 },
  { name: 'guarded route, JWT', prepare: guardedByJwt, needs: 'guardedByJwt', statements: 0, ...es256 },
]
