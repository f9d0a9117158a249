import { normalUrl } from '../protocol/tokens/dpop-proof.ts'
import { custom, feature, list, oneOf, withDefault } from './schema.ts'

/** URLs below which an API is called, without a slash at the end. */
export const baseUrls = list(
  custom<string>("a URL without a query, such as 'https://api.example.com'", (url) =>
    typeof url === 'string' && !/[?#]/.test(url) ? normalUrl(url)?.replace(/\/$/, '') : undefined,
  ),
  { what: 'a list of URLs' },
)

/** The option `protocol.dpop`. */
export const dpop = feature({
  /**
   * Whether each proof needs a nonce of this server: `'none'` or `'required'`. With a nonce, proofs cannot be made in
   * advance.
   */
  nonces: withDefault('none', oneOf('none', 'required')),
  /**
   * Where UserInfo and guards record used proofs: in the `'database'` for all processes, or in `'memory'`. `/token` and
   * `/par` always use the database.
   */
  usedProofs: withDefault('database', oneOf('database', 'memory')),
  /**
   * Where clients call APIs of this app, such as `['https://api.example.com/v1']`. It is necessary if that is neither the
   * origin of `issuer` nor that of a resource, or if a proxy removes a part of the path.
   */
  baseUrls: withDefault([], baseUrls),
})
