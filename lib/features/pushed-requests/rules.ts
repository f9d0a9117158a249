import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'

/** The beginning of every `request_uri` of a pushed request (RFC 9126 §2.2). */
const prefix = 'urn:ietf:params:oauth:request_uri:'

/** The `request_uri` of a pushed request. */
export const pushedRequestUri = (secret: string): string => `${prefix}${secret}`

/** The secret in the `request_uri` of a pushed request; undefined if the parameter is absent or a URL. */
export const pushedSecret = (parameters: Parameters): string | undefined => {
  const uri = parameters.first('request_uri')
  return uri?.startsWith(prefix) ? uri.slice(prefix.length) : undefined
}

/**
 * RFC 9126 §2.1: what is pushed must not refer to another request.
 *
 * @throws OAuthError `invalid_request`
 */
export const assertPushable = (parameters: Parameters): void => {
  if (parameters.has('request_uri'))
    throw refusal('parameter_invalid', {
      values: { parameter: 'request_uri', problem: 'must not be pushed' },
    })
}
