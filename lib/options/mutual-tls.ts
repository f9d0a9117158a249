import { X509Certificate } from 'node:crypto'
import { assertNames, assertRecord, refuse } from './check.ts'
import type { MutualTlsOptions } from './mutual-tls-options.ts'

/** Checked options of mutual TLS. */
export interface MutualTls {
  /** In lower case; undefined if the certificate is that of the TLS connection. */
  readonly header: string | undefined
  /** Undefined: the authorities that TLS trusts. */
  readonly authorities: readonly X509Certificate[] | undefined
  readonly url: string | undefined
}

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

const authoritiesIn = (where: string, pem: unknown): X509Certificate[] => {
  const blocks = typeof pem === 'string' ? (pem.match(pemBlock) ?? []) : []
  try {
    const authorities = blocks.map((block) => new X509Certificate(block))
    if (authorities.length > 0 && authorities.every(({ ca }) => ca)) return authorities
  } catch {
    // Refused below.
  }
  return refuse(`${where}.ca must be PEM certificates of authorities`)
}

/**
 * Checks `features.mutualTls`, and the same option of a resource server.
 *
 * @returns undefined if it is off
 * @throws OptionsError
 */
export const checkedMutualTls = (
  where: string,
  options: boolean | MutualTlsOptions = false,
): MutualTls | undefined => {
  if (typeof options === 'boolean') {
    return options ? { header: undefined, authorities: undefined, url: undefined } : undefined
  }
  assertRecord(where, options)
  assertNames(`${where}.`, options, ['header', 'ca', 'url'])
  const { header, ca, url } = options
  if (header !== undefined && !(typeof header === 'string' && /^[A-Za-z0-9-]{1,100}$/.test(header))) {
    refuse(`${where}.header must be the name of a header, such as 'Client-Cert'`)
  }
  if (url !== undefined && !(URL.canParse(url) && /^https:\/\/[^?#@]*[^/?#@]$/.test(url))) {
    refuse(`${where}.url must be an https URL without a slash at the end`)
  }
  const authorities = ca === undefined ? undefined : [ca].flat().flatMap((pem) => authoritiesIn(where, pem))
  return { header: header?.toLowerCase(), authorities, url }
}
