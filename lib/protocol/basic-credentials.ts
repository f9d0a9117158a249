export interface BasicCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

const formDecode = (value: string): string => decodeURIComponent(value.replaceAll('+', ' '))

/**
 * Parses client credentials of HTTP Basic; identifier and secret are each form-urlencoded inside (RFC 6749 §2.3.1).
 *
 * @param authorization the Authorization header
 * @returns undefined if the header is not Basic or is malformed
 * @example parseBasicCredentials(`Basic ${btoa('journal:s%2Fecret')}`) // { clientId: 'journal', clientSecret: 's/ecret' }
 */
export const parseBasicCredentials = (authorization: string): BasicCredentials | undefined => {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const [clientId, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  try {
    const clientSecret = formDecode(rest.join(':'))
    const id = formDecode(clientId ?? '')
    return rest.length > 0 && id !== '' ? { clientId: id, clientSecret } : undefined
  } catch {
    return undefined
  }
}
