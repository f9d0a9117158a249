import type { RequestHandler } from 'express'
import type { Pages } from '../http/pages.ts'
import { sendEmpty } from '../http/send.ts'

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
    if (req.headers['if-none-match'] === asset.etag) return sendEmpty(res, 304, headers)
    res.writeHead(200, { ...headers, 'Content-Length': asset.body.length })
    res.end(req.method === 'HEAD' ? undefined : asset.body)
  }
