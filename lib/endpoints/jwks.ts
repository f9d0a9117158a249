import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { jsonDocument, sendJsonDocument } from '../http/send.ts'
import { freshnessOf } from '../keys/key-schedule.ts'

/** RFC 7517 §5: the public keys that ID tokens are verified with, serialised once for as long as they are the same. */
export const jwksEndpoint = (server: AuthorizationServer): RequestHandler => {
  const { maxAge } = freshnessOf(server.options.lifetimes)
  let sent = { jwks: {}, document: jsonDocument({}) }
  return (_req, res) => {
    const { jwks } = server.keys
    if (sent.jwks !== jwks) sent = { jwks, document: jsonDocument(jwks) }
    sendJsonDocument(res, sent.document, maxAge)
  }
}
