import type { Request } from 'express'
import { isObject, parseJsonObject } from '../../protocol/json.ts'
import { refusal } from '../../protocol/refusal.ts'
import { compressed, isUtf8, readBody, tooLarge, wrongType } from './form.ts'

const jsonType = 'application/json'

/** The body as the host's own parser left it: an object, or the bytes. */
const parsed = (body: unknown): Readonly<Record<string, unknown>> | undefined => {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return parseJsonObject(body.toString())
  return isObject(body) ? body : undefined
}

/** The size of a body that the host has parsed, as JSON in bytes. What nests too deep to be written is too large. */
const sizeOf = (body: unknown): number => {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return Buffer.byteLength(body)
  try {
    return Buffer.byteLength(JSON.stringify(body) ?? '')
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** The body as the host left it, whose parser may have a larger limit. */
const hostBody = ({ body }: Request, limit: number): unknown => {
  if (sizeOf(body) > limit) throw tooLarge()
  return body
}

/**
 * Reads a JSON object from the body, also if the host has parsed it before. Compressed bodies are not inflated.
 *
 * @param limit bytes
 * @throws OAuthError `invalid_request`: 413 beyond the limit, 415 for anything but JSON in UTF-8
 */
export const readJson = async (req: Request, limit: number): Promise<Readonly<Record<string, unknown>>> => {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = req.headers
  if (!/^\s*application\/json\s*(;|$)/i.test(type)) throw wrongType(jsonType)
  if (!isUtf8(type)) throw wrongType('UTF-8')
  if (req.readable && coding.toLowerCase() !== 'identity') {
    throw compressed()
  }
  const object = parsed(req.readable ? await readBody(req, limit) : hostBody(req, limit))
  if (object === undefined) throw refusal('body_not_object')
  return object
}
