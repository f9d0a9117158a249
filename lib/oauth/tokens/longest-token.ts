import { lengths } from '../../protocol/lengths.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/**
 * Warns of a token that is so long that this server does not read it when it comes back.
 *
 * @param name of the kind of token, with its article
 * @returns the token
 */
export const notTooLong = ({ warnOnce }: AuthorizationServer, name: string, token: string): string => {
  if (token.length > lengths.token)
    warnOnce(
      `${name} is longer than ${lengths.token} characters, which neither this server nor an API reads; take long lists out of its claims, and let UserInfo return them`,
    )
  return token
}
