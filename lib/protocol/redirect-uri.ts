import { OAuthError } from './errors.ts'

/** What a redirect URI ends at, told by its scheme and host (RFC 8252 §7). */
export type RedirectUriKind = 'https' | 'http' | 'loopback' | 'private-use'

// Compared as text: `new URL()` would repair backslashes, tabs, userinfo and odd hosts in silence.
const loopbackLiteral = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?((?:[/?].*)?)$/
const localhostWithoutPort = /^http:\/\/localhost((?:[/?].*)?)$/
const localhostWithAnyPort = /^http:\/\/localhost(?::([0-9]{1,5}))?((?:[/?].*)?)$/

/** Written as a listener would write it: no zero in front, and 0 is no port that anyone listens on. */
const isPort = (port: string | undefined): boolean =>
  port === undefined || (/^[1-9]/.test(port) && Number(port) <= 65_535)

/** Same loopback literal and same rest, whatever the port (RFC 8252 §7.3). */
const matchesLoopback = (presented: string, registered: string): boolean => {
  const asked = loopbackLiteral.exec(presented)
  const known = loopbackLiteral.exec(registered)
  return (
    asked !== null && known !== null && asked[1] === known[1] && asked[3] === known[3] && isPort(asked[2])
  )
}

/** Native clients that registered `http://localhost/…` without a port listen on one of their choice. */
const matchesLocalhost = (presented: string, registered: string): boolean => {
  const asked = localhostWithAnyPort.exec(presented)
  const known = localhostWithoutPort.exec(registered)
  return asked !== null && known !== null && asked[2] === known[1] && isPort(asked[1])
}

/**
 * Whether a presented redirect URI is one of the registered ones: the raw strings are equal,
 * and only the port of a loopback address may differ (RFC 6749 §3.1.2.3, RFC 8252 §7.3, RFC 9700 §2.1).
 *
 * @example isRegisteredRedirectUri('http://127.0.0.1:51004/cb', ['http://127.0.0.1/cb'], { isPublic: true }) // true
 */
export const isRegisteredRedirectUri = (
  presented: string,
  registered: readonly string[],
  client: { readonly isPublic: boolean },
): boolean =>
  registered.some(
    (uri) =>
      uri === presented ||
      matchesLoopback(presented, uri) ||
      (client.isPublic && matchesLocalhost(presented, uri)),
  )

/** The kind of a registered redirect URI; it decides `form-action` and whether consent may be skipped. */
export const redirectUriKind = (uri: string): RedirectUriKind => {
  const { protocol, hostname } = new URL(uri)
  if (protocol === 'https:') return 'https'
  if (protocol !== 'http:') return 'private-use'
  return isLoopbackHost(hostname) ? 'loopback' : 'http'
}

/** Whether a host name, as WHATWG URL gives it, is this very machine. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'

/** What a page may call the place that the browser is sent to: host and port, or the scheme of a native client. */
export const redirectUriHost = (uri: string): string => {
  const url = new URL(uri)
  return redirectUriKind(uri) === 'private-use' ? url.protocol : url.host
}

// RFC 3986 §2: nothing else may stand in a URI; percent must begin an escape.
const uriCharacters = /^(?:[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=]|%[0-9A-Fa-f]{2})+$/
const dotSegment = /(?:^|\/|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/?]|%2f|%5c)/i
const dangerousSchemes = [
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'blob:',
  'about:',
  'filesystem:',
  'ws:',
  'wss:',
  'ftp:',
]
const responseParameters = [
  'code',
  'state',
  'iss',
  'error',
  'error_description',
  'error_uri',
  'id_token',
  'access_token',
  'response',
]

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_redirect_uri', `redirect_uri ${reason}`)
}

/**
 * The registration rules of one redirect URI, in order.
 *
 * @throws OAuthError `invalid_redirect_uri` (RFC 7591 §3.2.2)
 */
export const assertRegistrableRedirectUri = (uri: string): void => {
  if (uri.length > 2048) refuse('must not exceed 2048 characters')
  if (uri.includes('*')) refuse('must not hold a wildcard')
  if (uri.includes('#')) refuse('must not have a fragment')
  if (!uriCharacters.test(uri)) refuse('holds characters that a URI must not have')
  if (!URL.canParse(uri)) refuse('must be an absolute URI')
  const url = new URL(uri)
  if (dangerousSchemes.includes(url.protocol)) refuse(`must not use the scheme ${url.protocol}`)
  if (url.username !== '' || url.password !== '' || authorityOf(uri).includes('@'))
    refuse('must not hold user information')
  if (dotSegment.test(uri.slice(url.protocol.length).split('?')[0] ?? ''))
    refuse('must not hold dot segments')
  if (url.protocol === 'https:' || url.protocol === 'http:') assertWebUri(uri, url)
  else if (!url.protocol.includes('.'))
    refuse('with a private-use scheme needs a dot in it, such as com.example.app')
  for (const name of responseParameters) {
    if (url.searchParams.has(name)) refuse(`must not hold the response parameter ${name} in its query`)
  }
}

/** The part between `//` and the path, taken from the raw text. */
const authorityOf = (uri: string): string => /^[^:]+:\/\/([^/?]*)/.exec(uri)?.[1] ?? ''

const assertWebUri = (uri: string, url: URL): void => {
  const authority = authorityOf(uri)
  if (authority === '' || !uri.startsWith(`${url.protocol}//`)) refuse('must name a host after //')
  // The browser's reading must be the written one: no IDN in the raw, no octal or short addresses.
  if (authority.toLowerCase().replace(/:[0-9]*$/, '') !== url.hostname)
    refuse('has a host that is not written plainly')
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) refuse('must use https beyond loopback')
}
