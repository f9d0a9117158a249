import type { AttackClient } from '../options.ts'

/** The parts of a redirect URI as strings; they are not normalised, because normalising is what the attack tests. */
interface Parts {
  readonly scheme: string
  /** Host and port as written; undefined for `com.example.app:/callback`. */
  readonly authority: string | undefined
  readonly host: string
  readonly port: string
  /** From the path on. */
  readonly rest: string
}

const partsOf = (uri: string): Parts => {
  const [, scheme = '', authority, rest = ''] = /^([^:]+):(?:\/\/([^/?#]*))?(.*)$/s.exec(uri) ?? []
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority ?? '') ?? []
  return { scheme, authority, host, port, rest }
}

const otherCase = (text: string): string => {
  const upper = text.toUpperCase()
  return upper === text ? text.toLowerCase() : upper
}

const firstEncoded = (text: string): string =>
  text.replace(/[a-z]/i, (letter) => `%${letter.charCodeAt(0).toString(16)}`)

/** More at the end, less, or characters that a parser would remove. */
const endings = (uri: string): string[] =>
  [
    '/',
    '//',
    '/..',
    '/../',
    '/.',
    '/x',
    'x',
    '%2f',
    '%2e%2e',
    ';x',
    '?',
    '?x=1',
    '&x=1',
    '#',
    '#x',
    '*',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\u0000',
    '%00',
    '%0d%0aX:1',
    '\u200b',
    '\\',
    '/%5c..',
    '.',
  ].map((end) => `${uri}${end}`)

const beginnings = (uri: string): string[] => [
  ` ${uri}`,
  `\t${uri}`,
  `\u0000${uri}`,
  `url:${uri}`,
  `//${uri}`,
]

const paths = ({ scheme, authority, rest }: Parts): string[] => {
  const before = authority === undefined ? `${scheme}:` : `${scheme}://${authority}`
  const [path = ''] = rest.split('?')
  return [
    `/x/..${rest}`,
    `/.${rest}`,
    `/%2e%2e${rest}`,
    `/x/%2e%2e${rest}`,
    `/x%2f..${rest}`,
    `/..\\${rest}`,
    `/${rest}`,
    rest.replace(/^\//, '\\'),
    otherCase(path),
    firstEncoded(path),
    `%2f${rest.slice(1)}`,
    rest.slice(0, -1),
    path.replace(/\/[^/]*$/, '/'),
    '/',
    '',
    `/\t${rest.slice(1)}`,
  ].map((other) => `${before}${other}`)
}

/** Hosts that resemble the registered one, to a person or to `startsWith`. */
const hosts = ({ scheme, authority = '', host, rest }: Parts): string[] =>
  [
    'attacker.example',
    `${authority}.attacker.example`,
    `attacker.example.${authority}`,
    `x${authority}`,
    `x.${authority}`,
    `${host}.`,
    otherCase(host),
    host.replace('.', '。'),
    `user@${authority}`,
    `user:password@${authority}`,
    `@${authority}`,
    `${authority}@attacker.example`,
    `${authority}:@attacker.example`,
    `attacker.example\\@${authority}`,
    `attacker.example/@${authority}`,
    `attacker.example#@${authority}`,
    `attacker.example?@${authority}`,
    `${authority}\\.attacker.example`,
    `${authority}%00.attacker.example`,
    `${authority}%2eattacker.example`,
    `attacker.example%2f${authority}`,
    `${authority}\t.attacker.example`,
    `\\${authority}`,
    `/${authority}`,
    `${host}:`,
    `${host}:0`,
    `${host}:65536`,
    `${host}:00080`,
    `${host}:443x`,
  ].map((other) => `${scheme}://${other}${rest}`)

const schemes = ({ scheme, authority = '', rest }: Parts): string[] => [
  `${scheme}:/${authority}${rest}`,
  `${scheme}:${authority}${rest}`,
  `${scheme}:\\\\${authority}${rest}`,
  `//${authority}${rest}`,
  `\\\\${authority}${rest}`,
  rest,
  `${scheme === 'https' ? 'http' : 'https'}://${authority}${rest}`,
  `${otherCase(scheme)}://${authority}${rest}`,
  `${scheme}s://${authority}${rest}`,
]

const dangerous = [
  'javascript:alert(1)',
  'javascript://%0aalert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  '/',
  'x',
]

const loopbackNames = ['127.0.0.1', '[::1]', 'localhost']
const loopbackDisguises = ['127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', '[::ffff:127.0.0.1]', '0.0.0.0']

/** Other names of the loopback address: a different program may listen there. */
const loopbacks = ({ scheme, host, port, rest }: Parts): string[] =>
  loopbackNames.includes(host)
    ? [...loopbackNames, ...loopbackDisguises]
        .filter((name) => name !== host)
        .map((name) => `${scheme}://${name}${port && `:${port}`}${rest}`)
    : []

/** Other ports, unless the port may vary (RFC 8252 §7.3: loopback addresses, and `localhost` of public clients). */
const ports = ({ scheme, host, port, rest }: Parts, { client_secret }: AttackClient): string[] => {
  const isFree =
    scheme === 'http' &&
    (['127.0.0.1', '[::1]'].includes(host) || (host === 'localhost' && !port && client_secret === undefined))
  return isFree ? [] : ['443', '80', '4444'].map((other) => `${scheme}://${host}:${other}${rest}`)
}

/**
 * Redirect URIs that look like the registered one, or become it when they are parsed, decoded or completed.
 * None of them may be redirected to, because URIs are compared as strings (RFC 9700 §2.1).
 */
export const forgedRedirectUris = (client: AttackClient): string[] => {
  const { redirect_uri: uri, redirect_uris = [] } = client
  const parts = partsOf(uri)
  const web = parts.authority === undefined ? [] : [hosts, schemes, loopbacks].flatMap((make) => make(parts))
  const moved = parts.authority === undefined ? [] : ports(parts, client)
  const all = [
    ...endings(uri),
    ...beginnings(uri),
    otherCase(uri),
    ...paths(parts),
    ...web,
    ...moved,
    ...dangerous,
  ]
  return [...new Set(all)].filter(
    (forged) => forged !== uri && forged !== '' && !redirect_uris.includes(forged),
  )
}
