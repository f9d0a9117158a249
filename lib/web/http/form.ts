import type { Request } from 'express'
import type { OAuthError } from '../../protocol/errors.ts'
import { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { bearer } from '../../protocol/tokens/token-binding.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { clientCertificate } from './client-certificate.ts'
import type { Context } from './context.ts'

const formType = 'application/x-www-form-urlencoded'

const hasCharset = (type: string | undefined, known: RegExp): boolean =>
  type === undefined ||
  type === formType ||
  [...type.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)].every(([, charset = '']) => known.test(charset))

/** RFC 6749 Appendix B. A filter in front of us could not read a form in another charset. */
export const isUtf8 = (type?: string): boolean => hasCharset(type, /^utf-?8$/i)

/** Charsets in which ASCII is the same. Some clients name theirs beside a form that has nothing else. */
const asciiAndMore = /^(?:utf-?8|us-ascii|iso-8859-[0-9]{1,2}|windows-125[0-9])$/i

const notUtf8 = (): OAuthError => wrongType('UTF-8')

export const wrongType = (type: string): OAuthError =>
  refusal('body_type_wrong', { values: { type }, status: 415 })

export const compressed = (): OAuthError => refusal('body_compressed', { status: 415 })

export const tooLarge = (): OAuthError => refusal('body_too_large', { status: 413 })

/** Whether a media type is that of a form, with any parameters. */
const isForm = (type = ''): boolean => /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type)

/**
 * Reads the body of a request. A body beyond the limit is refused at once and its rest discarded, so that the client
 * can read the answer and use the connection again.
 */
export const readBody = (req: Request, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const refuse = (): void => {
      req.off('data', keep)
      req.resume()
      reject(tooLarge())
    }
    const keep = (chunk: Buffer | string): void => {
      // Middleware of the host may have set an encoding.
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      length += bytes.length
      if (length > limit) refuse()
      else chunks.push(bytes)
    }
    req.on('error', (cause: Error) => reject(refusal('body_unreadable', { cause })))
    if (Number(req.headers['content-length'] ?? 0) > limit) return refuse()
    req.on('data', keep)
    req.on('end', () => resolve(Buffer.concat(chunks, length)))
  })

/**
 * Reads a form into `req.body`, unless the host has parsed it before. Compressed bodies are not inflated.
 *
 * @param limit bytes
 * @throws OAuthError `invalid_request`: 413 beyond the limit, 415 for another charset or a content coding
 */
export const readForm = async (req: Request, limit: number): Promise<void> => {
  const { 'content-type': type, 'content-encoding': coding = 'identity' } = req.headers
  if (!hasCharset(type, asciiAndMore)) throw notUtf8()
  if (!isForm(type) || !req.readable) return
  if (coding.toLowerCase() !== 'identity') throw compressed()
  req.body = await readBody(req, limit)
}

const malformed = (): OAuthError => refusal('body_malformed')

/** The pairs of a form that the host parsed: repeats are lists, and brackets may have become objects. */
const pairsOf = (body: object): [string, string][] =>
  Object.entries(body).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).map((item: unknown, _, items): [string, string] => {
      // A list of one comes from `name[]`, which is another name.
      if (typeof item !== 'string' || (items.length === 1 && item !== value)) throw malformed()
      return [name, item]
    }),
  )

/** A form of a program may end with a line break, as a file does. */
const textPairs = (text: string): [string, string][] => [...new URLSearchParams(text.replace(/\r?\n$/, ''))]

const readPairs = (body: unknown): [string, string][] => {
  if (typeof body === 'string') return textPairs(body)
  if (Buffer.isBuffer(body)) return textPairs(body.toString('utf8'))
  if (body === undefined || body === null) return []
  if (typeof body !== 'object' || Array.isArray(body)) throw malformed()
  return pairsOf(body)
}

/**
 * The parameters of a form, parsed by the host or by {@link readForm}.
 *
 * @throws OAuthError `invalid_request`, with status 415 for anything but a form in UTF-8
 */
export const formParameters = (req: Request): Parameters => {
  const type = req.headers['content-type']
  if (type !== undefined && !req.is(formType)) {
    throw wrongType(formType)
  }
  const pairs = readPairs(req.body)
  if (!isUtf8(type) && !pairs.flat().every((text) => /^[\0-\x7f]*$/.test(text))) throw notUtf8()
  return Parameters.from(pairs)
}

/** The query as it was sent; `req.query` depends on a setting of the host. */
export const queryOf = (req: Request): URLSearchParams => {
  const start = req.url.indexOf('?')
  return new URLSearchParams(start === -1 ? '' : req.url.slice(start + 1))
}

/** The parameters of the query. */
export const queryParameters = (req: Request): Parameters => Parameters.from(queryOf(req))

/**
 * A request from a client, read from its form (RFC 6749 §3.2).
 *
 * @throws OAuthError `invalid_request`
 */
export const tokenRequest = ({ server, req, info }: Context): TokenRequest => {
  const parameters = formParameters(req)
  parameters.assertEachOnce()
  const { mutualTls } = server.options.protocol
  const certificate = mutualTls && clientCertificate(req, mutualTls, server.warnOnce)
  const { authorization } = req.headers
  return { parameters, authorization, ...(certificate && { certificate }), info, binding: bearer }
}
