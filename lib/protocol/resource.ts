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
