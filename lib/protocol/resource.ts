/** An identifier of a resource in parts: scheme and host, which ignore case, and the rest, which does not. */
const parts = /^(https?:\/\/[^/?#@\s\\]+)([/?][\x21\x23-\x5b\x5d-\x7e]*)?$/i

/**
 * The canonical form of a resource identifier (RFC 8707 §2): scheme and host are lower-cased, nothing else changes.
 *
 * @returns undefined unless the value is an absolute http or https URL without fragment and credentials
 * @example canonicalResource('HTTPS://App.example.com/MCP') // 'https://app.example.com/MCP'
 */
export const canonicalResource = (value: string): string | undefined => {
  const [, origin, rest = ''] = value.includes('#') || !URL.canParse(value) ? [] : (parts.exec(value) ?? [])
  return origin === undefined ? undefined : `${origin.toLowerCase()}${rest}`
}

/** The form that identifiers are compared in. An empty path is the path `/` (RFC 3986 §6.2.3); URL parsers add it. */
const comparable = (identifier: string): string =>
  /^https?:\/\/[^/?]+$/.test(identifier) ? `${identifier}/` : identifier

/** Whether two canonical identifiers name the same resource. */
export const isSameResource = (one: string, other: string): boolean => comparable(one) === comparable(other)

/** The path of every document about a resource (RFC 9728 §3). */
const metadataPath = '/.well-known/oauth-protected-resource'

/**
 * The URL of the document about a resource: the well-known path stands between host and path (RFC 9728 §3.1).
 *
 * @example resourceMetadataUrl('https://app.example.com/mcp') // 'https://app.example.com/.well-known/oauth-protected-resource/mcp'
 */
export const resourceMetadataUrl = (identifier: string): string => {
  const { origin, pathname, search } = new URL(identifier)
  return `${origin}${metadataPath}${pathname === '/' ? '' : pathname}${search}`
}
