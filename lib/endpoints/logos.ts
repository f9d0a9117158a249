import type { Incoming } from '../http/context.ts'
import type { Endpoint } from '../http/route.ts'
import { OAuthError } from '../protocol/errors.ts'
import { findLogo } from '../repositories/index.ts'

/** The logo of a client, by its hash: browsers load it from here only, and it never changes. */
const logo = async ({ server, req, res }: Incoming): Promise<void> => {
  const hash = String(req.params.hash)
  const found = /^[\w-]{43}$/.test(hash) ? await findLogo(server.database, { hash }) : undefined
  if (found === undefined) throw new OAuthError('invalid_request', 'the logo does not exist', { status: 404 })
  const headers = {
    'Content-Type': found.type,
    ETag: `"${hash}"`,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'",
  }
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (req.fresh) return void res.writeHead(304).end()
  res.writeHead(200, { 'Content-Length': found.body.length })
  res.end(req.method === 'HEAD' ? undefined : found.body)
}

export const logosEndpoint: Endpoint<Incoming> = {
  path: '/logos/:hash',
  methods: { GET: logo },
}
