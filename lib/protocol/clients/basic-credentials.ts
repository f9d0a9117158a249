export interface BasicCredentials {
  readonly clientId: string
  /** The secret as it was sent, and form-urldecoded if that is something else. */
  readonly clientSecrets: readonly string[]
}

/** The value if it is not form-urlencoded. */
const formDecode = (value: string): string => {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value
  }
}

/**
 * Parses client credentials of HTTP Basic. Identifier and secret should each be form-urlencoded inside
 * (RFC 6749 §2.3.1), but curl and many libraries send the secret as it is.
 *
 * @param authorization the Authorization header
 * @returns undefined if the header is not Basic or is malformed
 * @example parseBasicCredentials(`Basic ${btoa('journal:a%2Fb')}`) // { clientId: 'journal', clientSecrets: ['a%2Fb', 'a/b'] }
 */
export const parseBasicCredentials = (authorization: string): BasicCredentials | undefined => {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const [id = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  if (rest.length === 0 || id === '') return undefined
  const secret = rest.join(':')
  return { clientId: formDecode(id), clientSecrets: [...new Set([secret, formDecode(secret)])] }
}

/**
 * The client of a Basic header without a secret: how some libraries, such as Go's `x/oauth2`, send a public client.
 *
 * @returns undefined if the header is anything else
 */
export const publicClientOf = (authorization: string | undefined): string | undefined => {
  const basic = authorization === undefined ? undefined : parseBasicCredentials(authorization)
  return basic?.clientSecrets.every((secret) => secret === '') ? basic.clientId : undefined
}

const formEncode = (value: string): string => new URLSearchParams({ '': value }).toString().slice(1)

/** The header `Authorization` of a client with a secret (RFC 6749 §2.3.1). */
export const formatBasicCredentials = (clientId: string, clientSecret: string): string =>
  `Basic ${Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')}`
