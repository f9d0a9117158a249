import type { Incoming } from '../http/context.ts'
import type { Endpoint } from '../http/route.ts'
import { OAuthError } from '../protocol/errors.ts'

/** Seconds; a year. */
const lifetime = 31_536_000

/** The stylesheet and other files of the pages. A URL with the hash of its content never changes. */
const asset = ({ server, req, res }: Incoming): void => {
  const found = server.views.asset(String(req.params.name))
  if (found === undefined) throw new OAuthError('invalid_request', 'the file does not exist', { status: 404 })
  const isCurrent = req.url.endsWith(`?v=${found.etag.replaceAll('"', '')}`)
  const headers = {
    'Content-Type': found.type,
    ETag: found.etag,
    'Cache-Control': isCurrent ? `public, max-age=${lifetime}, immutable` : 'public, max-age=300',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'",
  }
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  // Express reads `If-None-Match` (RFC 9110 §13.1.2): a proxy that compresses makes the tag a weak one.
  if (req.fresh) return void res.writeHead(304).end()
  res.writeHead(200, { 'Content-Length': found.body.length })
  res.end(req.method === 'HEAD' ? undefined : found.body)
}

export const assetsEndpoint: Endpoint<Incoming> = {
  path: '/assets/:name',
  methods: { GET: asset },
}
