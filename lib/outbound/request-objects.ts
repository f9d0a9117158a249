import { lengths } from '../protocol/lengths.ts'
import type { Outbound } from './outbound.ts'

/** Reads request objects from the URLs that clients registered. */
export interface RequestObjects {
  /**
   * Fetches an object. It is not cached, because clients change it from request to request.
   *
   * @param uri a registered `request_uri` without its fragment
   * @throws Error if there is none, or if there was none within the last seconds
   */
  fetch(uri: string): Promise<string>
}

/** @param cause of what is fetched: one cause does not share the failures of another */
export type RequestObjectsBy = (cause: string | undefined) => RequestObjects

/** Seconds. Any browser can cause a fetch, and a client that registers itself can name any URL. */
const pauseAfterFailure = 10
// A limit, so that registering clients cannot fill the memory.
const maxEntries = 1000

/** Three parts, or five if it is encrypted (RFC 7515 §7.1, RFC 7516 §7.1). */
const isCompact = (text: string): boolean => {
  const parts = text.split('.')
  return [3, 5].includes(parts.length) && parts[0] !== '' && parts.every((part) => /^[\w-]*$/.test(part))
}

/** @param now epoch seconds */
export const createRequestObjects = (outbound: Outbound, now: () => number): RequestObjectsBy => {
  const failures = new Map<string, number>()

  const failed = (key: string): void => {
    failures.delete(key)
    failures.set(key, now())
    const [oldest] = failures.keys()
    if (failures.size > maxEntries && oldest !== undefined) failures.delete(oldest)
  }

  const read = async (uri: string, cause: string | undefined): Promise<string> => {
    const accept = 'application/oauth-authz-req+jwt, application/jwt, */*'
    const { status, body } = await outbound.request(uri, {
      accept,
      maxBytes: lengths.token,
      ...(cause !== undefined && { cause }),
    })
    const object = body.trim()
    if (status !== 200) throw new Error(`the response has status ${status}`)
    if (!isCompact(object)) throw new Error('the response is not a JWT')
    return object
  }

  return (cause) => ({
    fetch: async (uri) => {
      const key = JSON.stringify([cause, uri])
      const failedAt = failures.get(key)
      if (failedAt !== undefined && failedAt + pauseAfterFailure > now()) throw new Error('it failed before')
      try {
        const object = await read(uri, cause)
        failures.delete(key)
        return object
      } catch (error) {
        failed(key)
        throw error
      }
    },
  })
}
