import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { protectedResourceMetadata, resourceMetadataUrl } from '../../protocol/protected-resource.ts'
import { refusal } from '../../protocol/refusal.ts'
import { proofAlgorithms } from '../../protocol/tokens/dpop-proof.ts'
import type { Incoming } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { pathOf } from '../http/route.ts'
import { jsonDocument, sendJsonDocument } from '../http/send.ts'

/** The documents about the resources of the option `resources` (RFC 9728 §3). */
export interface ProtectedResources {
  /** Whether a document has this path. */
  has(path: string): boolean
  readonly endpoint: Endpoint<Incoming>
}

/** Serialises the documents once. Resources on several hosts, or with different queries, can share a path. */
export const protectedResources = ({ issuer, options }: ServerSetup): ProtectedResources => {
  const documents = Object.values(options.resources).map((resource) => ({
    url: new URL(resourceMetadataUrl(resource.identifier)),
    document: jsonDocument(
      protectedResourceMetadata(resource, issuer, options.protocol.dpop ? proofAlgorithms : []),
    ),
  }))
  const show = ({ server, req, res, info }: Incoming): void => {
    const ofPath = documents.filter(({ url }) => url.pathname === req.path)
    const { host } = req.headers
    const found =
      ofPath.length === 1
        ? ofPath[0]
        : ofPath.find(({ url }) => url.host === host && req.url === `${url.pathname}${url.search}`)
    server.observe?.({ kind: 'document', info, path: pathOf(req), isServed: found !== undefined })
    if (found === undefined)
      throw refusal('parameter_invalid', {
        values: { parameter: 'no', problem: 'such resource' },
        status: 404,
      })
    sendJsonDocument(res, found.document, 300)
  }
  return {
    has: (path) => documents.some(({ url }) => url.pathname === path),
    endpoint: { path: '/.well-known/oauth-protected-resource', cors: true, methods: { GET: show } },
  }
}
