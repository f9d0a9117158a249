import type { Request } from 'express'
import { OAuthError } from '../protocol/errors.ts'

const tooLarge = (): OAuthError =>
  new OAuthError('invalid_request', 'the request body is too large', { status: 413 })

/**
 * The bytes of a request body that nobody has read. A body that is too large is refused at once; the rest of it is
 * thrown away as it comes, so that the client gets to read the answer and may use the connection again.
 *
 * @param limit bytes
 * @throws OAuthError `invalid_request`: 413 beyond the limit, 400 when the client hangs up midway
 * @example const text = (await readBody(req, 65_536)).toString('utf8')
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
      // A host may have set an encoding.
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      length += bytes.length
      if (length > limit) refuse()
      else chunks.push(bytes)
    }
    req.on('error', (cause: Error) =>
      reject(new OAuthError('invalid_request', 'the request body cannot be read', { cause })),
    )
    if (Number(req.headers['content-length'] ?? 0) > limit) return refuse()
    req.on('data', keep)
    req.on('end', () => resolve(Buffer.concat(chunks, length)))
  })
