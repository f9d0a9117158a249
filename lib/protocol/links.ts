import { isLoopbackHost } from './clients/redirect-uri.ts'

/** The URL if a link may have it: https, or http on loopback, without a user name, which could look like the host. */
export const webLink = (value: string | undefined): string | undefined => {
  if (value === undefined || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return undefined
  const url = new URL(value)
  const isAllowed =
    (url.protocol === 'https:' || isLoopbackHost(url.hostname)) && url.username === '' && url.password === ''
  return isAllowed ? url.href : undefined
}

/** The URL if it is https; for links that a client registered. */
export const httpsLink = (value: string | undefined): string | undefined => {
  const link = webLink(value)
  return link?.startsWith('https:') ? link : undefined
}

/** The path, if it is one: neither `//elsewhere` nor `/\t/elsewhere`, which browsers treat in the same way. */
export const ownPathOf = (value: string | undefined): string | undefined =>
  value !== undefined && /^\/(?![/\\])[^\s\p{Cc}]*$/u.test(value) ? value : undefined

/** A link of the host: a path, or as {@link webLink}. */
export const hostLink = (value: string | undefined): string | undefined => ownPathOf(value) ?? webLink(value)

/** The URL if it begins a letter (RFC 6068). */
export const mailLink = (value: string | undefined): string | undefined =>
  value !== undefined && /^mailto:[^\s\p{Cc}<>"'\\@]+@[^\s\p{Cc}<>"'\\]+$/iu.test(value) ? value : undefined

/** A link to the host's help: also an address to write to. */
export const helpLink = (value: string | undefined): string | undefined => mailLink(value) ?? hostLink(value)

/** The target of a form or a refresh. Throws a TypeError if it is neither a path nor a web URL. */
export const ownUrl = (value: string): string => {
  const url = hostLink(value)
  if (url === undefined) throw new TypeError('a page may only lead to a path or an http(s) URL')
  return url
}
