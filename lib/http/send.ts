import { createHash } from 'node:crypto'
import type { Response } from 'express'

interface SendOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The only two ways out for JSON and redirects. `res.json` and `res.redirect` obey settings and hooks of the host's
 * (a JSON replacer, a conditional GET), which could change what the protocol says.
 */
const send = (
  res: Response,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void => {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.setHeader('Content-Length', Buffer.byteLength(body))
  // What a hook of the host's makes of the headers may be refused: here that is an error, within `end` it would hang.
  res.writeHead(status)
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

const jsonHeaders = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'",
}

/** A JSON answer, never cached unless a header says otherwise. */
export const sendJson = (
  res: Response,
  body: object,
  { status = 200, headers = {} }: SendOptions = {},
): void => send(res, status, { ...jsonHeaders, ...headers }, JSON.stringify(body))

/** JSON that is serialised once and sent often, with the tag by which caches know it again (RFC 9110 §8.8.3). */
export interface JsonDocument {
  readonly text: string
  readonly etag: string
}

export const jsonDocument = (body: object): JsonDocument => {
  const text = JSON.stringify(body)
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/** A document that anybody may keep for so many seconds; 304 without a body to whoever has this very one. */
export const sendJsonDocument = (res: Response, { text, etag }: JsonDocument, maxAge: number): void => {
  const caching = { 'Cache-Control': `public, max-age=${maxAge}`, ETag: etag }
  for (const [name, value] of Object.entries({ ...jsonHeaders, ...caching })) res.setHeader(name, value)
  // Express's own reading of `If-None-Match` (RFC 9110 §13.1.2).
  if (res.req.fresh) res.writeHead(304).end()
  else send(res, 200, {}, text)
}

/** A JWT as the whole answer (OIDC Core §5.3.2). */
export const sendJwt = (res: Response, jwt: string): void =>
  send(res, 200, { ...jsonHeaders, 'Content-Type': 'application/jwt' }, jwt)

/** A rendered page. */
export const sendHtml = (
  res: Response,
  html: string,
  { status = 200, headers = {} }: SendOptions = {},
): void => send(res, status, { 'Content-Type': 'text/html; charset=utf-8', ...headers }, html)

/** 303: whatever the method was, the browser goes on by GET. */
export const sendRedirect = (res: Response, location: string): void => {
  // Browsers heed it on every hop: a client's popup would be cut off from it by an app-wide helmet.
  res.removeHeader('Cross-Origin-Opener-Policy')
  send(res, 303, { Location: location, 'Cache-Control': 'no-store' }, '')
}

/** An empty answer. */
export const sendEmpty = (
  res: Response,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): void => send(res, status, headers, '')
