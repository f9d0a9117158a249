/**
 * Checks the authentication methods that a function of the host returned (RFC 8176 §1): ID tokens contain them, pages list
 * them, and they decide who may add a passkey.
 *
 * @param amr undefined if the host returned none
 * @param option named in the error
 * @throws TypeError unless they are undefined, or a list of at least one string
 * @example assertMethods(login.amr, 'login.current')
 */
export const assertMethods = (amr: unknown, option: string): void => {
  if (amr === undefined) return
  if (Array.isArray(amr) && amr.length > 0 && amr.every((method) => typeof method === 'string')) return
  throw new TypeError(`latchkey: ${option} must return amr as a list of strings, or leave it out`)
}
