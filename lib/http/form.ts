import type { Request, RequestHandler } from 'express'
import { OAuthError } from '../protocol/errors.ts'
import { Parameters } from '../protocol/parameters.ts'
import { readBody } from './body.ts'

const formType = 'application/x-www-form-urlencoded'

/** A form is UTF-8 (RFC 6749 Appendix B); in another charset a filter before us could not read what it asks for. */
const isUtf8 = (type = formType): boolean =>
  type === formType ||
  [...type.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)].every(([, charset = '']) =>
    /^utf-?8$/i.test(charset),
  )

const unsupported = (description: string): OAuthError =>
  new OAuthError('invalid_request', description, { status: 415 })

/** Whether this is the media type of a form, whatever its parameters. */
const isForm = (type = ''): boolean => /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type)

/**
 * Reads a form body of UTF-8, unless the host has done so before us. Compressed bodies are not inflated.
 *
 * @param limit bytes
 * @returns middleware that ends in OAuthError `invalid_request`: 413 beyond the limit, 415 for another charset or a
 *   content coding
 */
export const formBody =
  (limit: number): RequestHandler =>
  (req, _res, next) => {
    if (req.method !== 'POST') return next()
    const { 'content-type': type, 'content-encoding': coding = 'identity' } = req.headers
    if (!isUtf8(type)) throw unsupported('the request body must be UTF-8')
    if (!isForm(type) || !req.readable) return next()
    if (coding.toLowerCase() !== 'identity') throw unsupported('the request body must not be compressed')
    readBody(req, limit).then((body) => {
      req.body = body
      next()
    }, next)
  }

const malformed = (): OAuthError => new OAuthError('invalid_request', 'the request body is malformed')

/** What a parser of the host's made of the form: repeats are lists, and brackets may have become objects. */
const pairsOf = (body: object): [string, string][] =>
  Object.entries(body).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).map((item: unknown, _, items): [string, string] => {
      // A list of one comes from `name[]`, which is another name.
      if (typeof item !== 'string' || (items.length === 1 && item !== value)) throw malformed()
      return [name, item]
    }),
  )

/**
 * The parameters of a form POST, whoever parsed it.
 *
 * @throws OAuthError `invalid_request`: 415 for anything but a form
 */
export const formParameters = (req: Request): Parameters => {
  const body: unknown = req.body
  const hasType = req.headers['content-type'] !== undefined
  if (hasType && !req.is(formType)) {
    throw unsupported(`the request body must be ${formType}`)
  }
  if (typeof body === 'string') return Parameters.from(new URLSearchParams(body))
  if (Buffer.isBuffer(body)) return Parameters.from(new URLSearchParams(body.toString('utf8')))
  if (body === undefined || body === null) return Parameters.from([])
  if (typeof body !== 'object' || Array.isArray(body)) throw malformed()
  return Parameters.from(pairsOf(body))
}

/** The query as it was sent; `req.query` depends on a setting of the host's. */
export const queryParameters = (req: Request): Parameters => {
  const start = req.url.indexOf('?')
  return Parameters.from(new URLSearchParams(start === -1 ? '' : req.url.slice(start + 1)))
}
