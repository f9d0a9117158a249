import { OAuthError } from '../errors.ts'
import { lengths } from '../lengths.ts'
import { type ReasonOf, refusal } from '../refusal.ts'

/** The kind of a redirect URI, by its scheme and host (RFC 8252 §7). */
export type RedirectUriKind = 'https' | 'http' | 'loopback' | 'private-use'

// Compared as strings: `new URL()` would silently repair backslashes, tabs, userinfo and odd hosts.
const loopbackLiteral = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?((?:[/?].*)?)$/
const localhostWithoutPort = /^http:\/\/localhost((?:[/?].*)?)$/
const localhostWithAnyPort = /^http:\/\/localhost(?::([0-9]{1,5}))?((?:[/?].*)?)$/

/** A port that a program can listen on, without leading zeros. */
const isPort = (port: string | undefined): boolean =>
  port === undefined || (/^[1-9]/.test(port) && Number(port) <= 65_535)

/** Same loopback address and same path; the port may differ (RFC 8252 §7.3). */
const matchesLoopback = (presented: string, registered: string): boolean => {
  const given = loopbackLiteral.exec(presented)
  const known = loopbackLiteral.exec(registered)
  return (
    given !== null && known !== null && given[1] === known[1] && given[3] === known[3] && isPort(given[2])
  )
}

/** A native client that registered `http://localhost/…` without a port may listen on any port. */
const matchesLocalhost = (presented: string, registered: string): boolean => {
  const given = localhostWithAnyPort.exec(presented)
  const known = localhostWithoutPort.exec(registered)
  return given !== null && known !== null && given[2] === known[1] && isPort(given[1])
}

/**
 * Whether a presented redirect URI is registered: the strings must be equal, except for the port of a loopback address
 * (RFC 6749 §3.1.2.3, RFC 8252 §7.3, RFC 9700 §2.1).
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

/** The kind of a registered redirect URI, which decides `form-action` and whether consent may be skipped. */
export const redirectUriKind = (uri: string): RedirectUriKind => {
  const { protocol, hostname } = new URL(uri)
  if (protocol === 'https:') return 'https'
  if (protocol !== 'http:') return 'private-use'
  return isLoopbackHost(hostname) ? 'loopback' : 'http'
}

/** Whether a host name, as WHATWG URL returns it, is this machine, as every name below `localhost` is (RFC 6761 §6.3). */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '127.0.0.1' ||
  hostname === '[::1]'

/** The part of a redirect URI that a page shows: host and port; empty for an app on the user's device. */
export const webHost = (uri: string): string =>
  redirectUriKind(uri) === 'private-use' ? '' : new URL(uri).host

/** The key under which a redirect URI is kept: host and port, or the scheme of a native client. */
export const redirectUriHost = (uri: string): string => {
  const url = new URL(uri)
  return redirectUriKind(uri) === 'private-use' ? url.protocol : url.host
}

// RFC 3986 §2: the characters of a URI; a percent sign must begin an escape.
const uriCharacters = /^(?:[A-Za-z0-9\-._~:/?[\]@!$&'()+,;=]|%[0-9A-Fa-f]{2})+$/
const dotSegment = /(?:^|\/|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/?]|%2f|%5c)/i
/** Schemes that browsers or systems handle themselves, and families of them that begin with `ms-` and the like. */
const systemSchemes =
  /^(javascript|vbscript|data|file|filesystem|blob|about|wss?|s?ftp|urn|intent|android-app|content|jar|resource|res|mk|hcp|help|x-help-.*|view-source|(moz|chrome|safari|safari-web|ms-browser)-extension|chrome(-.*)?|devtools|ms-.*|search|search-ms|mailto|tel|sms|mms|callto|skype|facetime.*|messages?|imessage|maps|geo|itms.*|market|shell|ssh|telnet|rlogin|rdp|vnc|ldaps?|smb|cifs|afp|nfs|davs?|webdavs?|git(\+.*)?|svn(\+.*)?|rsync|gopher|magnet|ed2k|webcals?|feed|jnlps?|x-man-page|x-web-search|applescript|shortcuts|workflow|prefs|app-prefs|app-settings|x-apple.*|apple-.*|com-apple-.*|web\+.*):$/
/** Schemes by which a program opens the web address that stands in the URI: a code would go to that address. */
const webSchemes =
  /^(.+[-+.]https?|googlechromes?|googlechrome-.*|chromium|firefox.*|microsoft-edge.*|edge|brave|opera|opera-.*|vivaldi|duckduckgo|ddgquicklink|yandexbrowser.*|ucbrowser):$/
/** Schemes without a dot of apps that are known to register themselves, such as editors in which an extension does. */
const appSchemes =
  /^(claude|code-oss|cursor|cursor-nightly|kiro|trae|vscode|vscode-insiders|vscodium|warp|windsurf|zed):$/
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

const refuse = (
  problem: string,
  reason: ReasonOf<'invalid_redirect_uri'> = 'redirect_uri_invalid',
): never => {
  throw refusal(reason, { values: { parameter: 'redirect_uri', problem } })
}

/**
 * Checks a redirect URI at registration.
 *
 * @throws OAuthError `invalid_redirect_uri` (RFC 7591 §3.2.2)
 */
export const assertRegistrableRedirectUri = (uri: string): void => {
  if (uri.length > lengths.other) refuse(`must not exceed ${lengths.other} characters`)
  if (uri.includes('*')) refuse('must not contain a wildcard', 'redirect_uri_wildcard')
  if (uri.includes('#')) refuse('must not have a fragment')
  if (!uriCharacters.test(uri)) refuse('has characters that a URI must not have')
  if (!URL.canParse(uri)) refuse('must be an absolute URI', 'redirect_uri_relative')
  const url = new URL(uri)
  if (systemSchemes.test(url.protocol) || webSchemes.test(url.protocol))
    refuse(`must not use the scheme ${url.protocol}`)
  if (url.username !== '' || url.password !== '' || authorityOf(uri).includes('@'))
    refuse('must not contain user information')
  if (dotSegment.test(uri.slice(url.protocol.length).split('?')[0] ?? ''))
    refuse('must not contain dot segments')
  if (url.protocol === 'https:' || url.protocol === 'http:') assertWebUri(uri, url)
  else if (!uri.slice(url.protocol.length).startsWith('/')) refuse('must have a slash after its scheme')
  for (const name of responseParameters) {
    if (url.searchParams.has(name)) refuse(`must not contain the response parameter ${name} in its query`)
  }
}

/**
 * Whether a redirect URI has a private-use scheme without a dot, such as `cursor://`. RFC 8252 §8.4 says that schemes should
 * have one; many native apps have not, and those are public clients.
 */
const hasDotlessScheme = (uri: string): boolean => {
  const { protocol } = new URL(uri)
  return redirectUriKind(uri) === 'private-use' && !protocol.includes('.')
}

/**
 * Checks what depends on the kind of client: an app with a secret is on a server, which has no scheme of its own.
 *
 * @throws OAuthError `invalid_redirect_uri`
 */
export const assertRedirectUriOf = (uri: string, client: { readonly isPublic: boolean }): void => {
  if (!client.isPublic && hasDotlessScheme(uri))
    refuse('must have a private-use scheme with a dot, such as com.example.app, unless the client is public')
}

/**
 * Checks a URI of a client that describes itself. Which program has a scheme without a dot is unknown, so only those of known apps
 * are accepted; a scheme with a dot is a domain in reverse (RFC 8252 §7.1).
 *
 * @throws OAuthError `invalid_redirect_uri`
 */
export const assertKnownScheme = (uri: string): void => {
  if (hasDotlessScheme(uri) && !appSchemes.test(new URL(uri).protocol))
    refuse('must have a private-use scheme with a dot, such as com.example.app, or that of a known app')
}

/** Whether a client that describes itself may register a redirect URI. */
export const isRegistrableRedirectUri = (uri: string, client: { readonly isPublic: boolean }): boolean => {
  try {
    assertRegistrableRedirectUri(uri)
    assertRedirectUriOf(uri, client)
    assertKnownScheme(uri)
    return true
  } catch (error) {
    if (error instanceof OAuthError) return false
    throw error
  }
}

/** The part between `//` and the path, from the raw string. */
const authorityOf = (uri: string): string => /^[^:]+:\/\/([^/?]*)/.exec(uri)?.[1] ?? ''

const assertWebUri = (uri: string, url: URL): void => {
  const authority = authorityOf(uri)
  if (authority === '' || !uri.startsWith(`${url.protocol}//`)) refuse('must name a host after //')
  // The browser must read the host exactly as written: no raw IDN, no octal or short addresses.
  if (authority.toLowerCase().replace(/:[0-9]*$/, '') !== url.hostname)
    refuse('has a host that is not in canonical form')
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    refuse(`must use https beyond loopback, unlike ${url.origin}`, 'redirect_uri_insecure')
}
