/** One of the values in a `response_type`: what the authorization response carries (Multiple Response Types §3, §5). */
export type ResponsePart = 'code' | 'token' | 'id_token'

/**
 * Response types that return tokens in the front channel. They are deprecated (RFC 9700 §2.1.2): tokens in URLs leak
 * through history, logs and scripts, and are not bound to the client that requested them. Off by default.
 */
export const frontChannelResponseTypes = [
  'token',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
] as const

/** Sorts the values, whose order has no meaning (Multiple Response Types §3), so that response types can be compared. */
export const normalResponseType = (value: string): string =>
  [...new Set(value.split(' ').filter((word) => word !== ''))].sort().join(' ')

/** @example returnsPart('code id_token', 'code') // true */
export const returnsPart = (responseType: string, part: ResponsePart): boolean =>
  responseType.split(' ').includes(part)

/** Whether a response of this type carries a token, which must not be sent in a query (Multiple Response Types §5). */
export const isFrontChannel = (responseType: string): boolean =>
  returnsPart(responseType, 'token') || returnsPart(responseType, 'id_token')
