/** What the authorization endpoint may return: the words of a `response_type` (OAuth 2.0 Multiple Response Types §3, §5). */
export type ResponsePart = 'code' | 'token' | 'id_token'

/**
 * Response types that hand out tokens in the front channel. They are deprecated (RFC 9700 §2.1.2): tokens in URLs leak
 * through history, logs and scripts, and nothing binds them to the client that asked. Off unless a host turns them on.
 */
export const frontChannelResponseTypes = [
  'token',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
] as const

/** The order of the words does not matter (Multiple Response Types §3); one order makes values comparable. */
export const normalResponseType = (value: string): string =>
  [...new Set(value.split(' ').filter((word) => word !== ''))].sort().join(' ')

/** Whether a response of this type carries this. */
export const returnsPart = (responseType: string, part: ResponsePart): boolean =>
  responseType.split(' ').includes(part)

/** Whether a response of this type carries a token, and so must not travel in a query (Multiple Response Types §5). */
export const isFrontChannel = (responseType: string): boolean =>
  returnsPart(responseType, 'token') || returnsPart(responseType, 'id_token')
