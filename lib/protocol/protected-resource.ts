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

/** An identifier of a resource in parts: scheme and host, which ignore case, and the rest, which does not. */
const parts = /^(https?:\/\/[a-z0-9.:[\]_-]+)([/?][\x21\x23-\x5b\x5d-\x7e]*)?$/i

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

/** A resource as its document describes it. */
export interface DescribedResource {
  readonly identifier: string
  readonly name: string
  readonly scopes: readonly string[]
}

/**
 * The document about a resource (RFC 9728 §2). Its scopes are those of the API: `offline_access` is about the client.
 *
 * @param proofAlgorithms the algorithms of DPoP proofs; empty if it accepts none
 */
export const protectedResourceMetadata = (
  { identifier, name, scopes }: DescribedResource,
  issuer: string,
  proofAlgorithms: readonly string[],
): Readonly<Record<string, unknown>> => ({
  resource: identifier,
  authorization_servers: [issuer],
  scopes_supported: scopes.filter((scope) => scope !== 'offline_access'),
  bearer_methods_supported: ['header'],
  resource_name: name,
  ...(proofAlgorithms.length > 0 && { dpop_signing_alg_values_supported: proofAlgorithms }),
})
