import type { RequestHandler } from 'express'
import type { Pages } from '../http/pages.ts'

const aYear = 31_536_000

/** The stylesheet and what else the pages load, from this origin only; a URL with its content hash never changes. */
export const assetsEndpoint =
  ({ views }: Pages): RequestHandler =>
  (req, res, next) => {
    const asset = views.asset(String(req.params.name))
    if (asset === undefined) return next()
    const isCurrent = req.url.endsWith(`?v=${asset.etag.replaceAll('"', '')}`)
    const headers = {
      'Content-Type': asset.type,
      ETag: asset.etag,
      'Cache-Control': isCurrent ? `public, max-age=${aYear}, immutable` : 'public, max-age=300',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'",
    }
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    // Express's own reading of `If-None-Match` (RFC 9110 §13.1.2): a proxy that compresses makes the tag a weak one.
    if (req.fresh) return void res.writeHead(304).end()
    res.writeHead(200, { 'Content-Length': asset.body.length })
    res.end(req.method === 'HEAD' ? undefined : asset.body)
  }
