import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'

/**
 * Whether a request is answered as if by GET, but changes nothing: no row, no session and no cookie (RFC 9110 §9.3.2).
 */
export const isReadOnly = ({ method }: Pick<Request, 'method'>): boolean => method === 'HEAD'

/** The same server for such a request: its writes are discarded. */
export const withoutWrites = (server: AuthorizationServer): AuthorizationServer => ({
  ...server,
  database: { ...server.database, isReadOnly: true },
})
