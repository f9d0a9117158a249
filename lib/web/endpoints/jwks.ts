import { freshnessOf } from '../../keys/key-schedule.ts'
import type { Context } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { jsonDocument, sendJsonDocument } from '../http/send.ts'

/** RFC 7517 §5: the public keys that verify ID tokens, serialised again only when they change. */
export const createJwksEndpoint = (): Endpoint<Context> => {
  let sent = { jwks: {}, document: jsonDocument({}) }
  const jwks = ({ server, res }: Context): void => {
    const { jwks } = server.keys
    if (sent.jwks !== jwks) sent = { jwks, document: jsonDocument(jwks) }
    sendJsonDocument(res, sent.document, freshnessOf(server.options.lifetimes).maxAge)
  }
  return { path: '/jwks', metadataName: 'jwks_uri', cors: true, methods: { GET: jwks } }
}
