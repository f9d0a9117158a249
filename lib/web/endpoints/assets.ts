import type { Request, Response } from 'express'
import { refusal } from '../../protocol/refusal.ts'
import type { Incoming } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { type AssetEncoding, assetEncodings } from '../pages/assets.ts'

/** For a file that never changes: it is fresh for a year. */
export const forever = 'public, max-age=31536000, immutable'

/** Sends a file, or 304 if the browser has it. */
export const sendFile = (
  req: Request,
  res: Response,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): void => {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.setHeader('X-Content-Type-Options', 'nosniff')
  // Express reads `If-None-Match` (RFC 9110 §13.1.2): a proxy that compresses makes the tag a weak one.
  if (req.fresh) return void res.writeHead(304).end()
  res.writeHead(200, { 'Content-Length': body.length })
  res.end(req.method === 'HEAD' ? undefined : body)
}

/** The best content coding that the browser accepts; undefined for none. */
const encodingFor = (req: Request): AssetEncoding | undefined =>
  assetEncodings.find((encoding) => req.acceptsEncodings(encoding) === encoding)

/**
 * The stylesheet and other files of the pages, compressed: they contain no secret. A URL with the hash of its content
 * never changes.
 */
const asset = ({ server, req, res }: Incoming): void => {
  const found = server.views.asset(String(req.params.name))
  if (found === undefined)
    throw refusal('parameter_invalid', {
      values: { parameter: 'the', problem: 'file does not exist' },
      status: 404,
    })
  const isCurrent = req.url.endsWith(`?v=${found.etag.replaceAll('"', '')}`)
  const encoding = encodingFor(req)
  const encoded = encoding && found.encoded(encoding)
  const body = encoded ?? found.body
  // Weak, because the bytes differ from those of the plain file (RFC 9110 §8.8.1).
  const etag = encoded ? `W/${found.etag}` : found.etag
  res.vary('Accept-Encoding')
  sendFile(req, res, body, {
    'Content-Type': found.type,
    ...(encoded && encoding && { 'Content-Encoding': encoding }),
    ETag: etag,
    'Cache-Control': isCurrent ? forever : 'public, max-age=300',
    // A drawing may have styles of its own.
    'Content-Security-Policy': `default-src 'none'${found.type === 'image/svg+xml' ? "; style-src 'unsafe-inline'" : ''}`,
  })
}

export const assetsEndpoint: Endpoint<Incoming> = {
  path: '/assets/:name',
  methods: { GET: asset },
}
