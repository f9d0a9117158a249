import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Response } from 'express'
import { HostError } from '../../protocol/problem.ts'

interface SendOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer could not be written, because a hook of the host refused its headers. It would refuse others, too. */
export class UnsentError extends HostError {
  override readonly name = 'UnsentError'

  constructor(cause: unknown) {
    super('the answer could not be written', { cause })
  }
}

/**
 * Writes a whole response. `res.json` and `res.redirect` obey settings and hooks of the host (a JSON replacer, a
 * conditional GET), which could change what the protocol says.
 *
 * @throws UnsentError if nothing was written
 */
export const send = (
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void => {
  try {
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    res.setHeader('Content-Length', Buffer.byteLength(body))
    // A hook of the host may make headers that Node refuses. Here that throws; within `end` the response would hang.
    res.writeHead(status)
  } catch (cause) {
    throw new UnsentError(cause)
  }
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

const jsonHeaders = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'",
}

/** An answer in JSON, as it leaves. */
export interface JsonAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Makes an answer in JSON, not to be cached unless a header allows it. */
export const jsonAnswer = (body: object, { status = 200, headers = {} }: SendOptions = {}): JsonAnswer => ({
  status,
  headers: { ...jsonHeaders, ...headers },
  body: JSON.stringify(body),
})

export const sendJsonAnswer = (res: Response, { status, headers, body }: JsonAnswer): void =>
  send(res, status, headers, body)

/** Sends JSON, not to be cached unless a header allows it. */
export const sendJson = (res: Response, body: object, options: SendOptions = {}): void =>
  sendJsonAnswer(res, jsonAnswer(body, options))

/** JSON that is serialised once and sent often, with its entity tag (RFC 9110 §8.8.3). */
export interface JsonDocument {
  readonly text: string
  readonly etag: string
}

export const jsonDocument = (body: object): JsonDocument => {
  const text = JSON.stringify(body)
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

/**
 * Sends a public document, or 304 to a client that has it.
 *
 * @param maxAge seconds that caches may keep it
 */
export const sendJsonDocument = (res: Response, { text, etag }: JsonDocument, maxAge: number): void => {
  const caching = { 'Cache-Control': `public, max-age=${maxAge}`, ETag: etag }
  for (const [name, value] of Object.entries({ ...jsonHeaders, ...caching })) res.setHeader(name, value)
  // Express's own reading of `If-None-Match` (RFC 9110 §13.1.2).
  if (res.req.fresh) res.writeHead(304).end()
  else send(res, 200, {}, text)
}

/** Sends a JWT as the whole answer (OIDC Core §5.3.2). */
export const sendJwt = (res: Response, jwt: string): void =>
  send(res, 200, { ...jsonHeaders, 'Content-Type': 'application/jwt' }, jwt)

/** Sends a rendered page. */
export const sendHtml = (
  res: Response,
  html: string,
  { status = 200, headers = {} }: SendOptions = {},
): void => send(res, status, { 'Content-Type': 'text/html; charset=utf-8', ...headers }, html)

/** Sends an empty answer. */
export const sendEmpty = (
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): void => send(res, status, headers, '')
