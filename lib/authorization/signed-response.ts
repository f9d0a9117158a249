import type { ServerSetup } from '../authorization-server.ts'
import { readyInTime } from '../http/ready.ts'
import { signJwt } from '../keys/jwt.ts'
import type { ResponseSigning } from '../protocol/errors.ts'

/** Seconds; JARM §2.1 recommends ten minutes at most. */
const lifetime = 600

/**
 * An authorization response as one signed JWT (JARM §2.1).
 *
 * @param parameters of the response, with `iss`
 * @throws OAuthError `temporarily_unavailable` if the keys cannot be read
 */
export const signedResponse = async (
  setup: ServerSetup,
  { clientId, algorithm }: ResponseSigning,
  parameters: Readonly<Record<string, string>>,
): Promise<string> => {
  const server = setup.current() ?? (await readyInTime(setup))
  const claims = { ...parameters, aud: clientId, exp: server.now() + lifetime }
  return signJwt(server.keys.signingKey(algorithm), claims)
}
