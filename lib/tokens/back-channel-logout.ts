import { setTimeout as wait } from 'node:timers/promises'
import type { AuthorizationServer } from '../authorization-server.ts'
import { signJwt } from '../keys/jwt.ts'
import { randomId } from '../keys/secrets.ts'
import { OutboundError } from '../outbound/outbound.ts'
import { findClientsOfLogin, type LoggedInClient } from '../repositories/index.ts'
import { subjectFor } from './subject.ts'

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Seconds that a logout token is valid; Back-Channel Logout §2.4 recommends at most two minutes. */
const tokenLifetime = 120

/** Milliseconds before each further attempt. */
const pauses = [1000, 5000]

/** A login that has ended. */
export interface EndedLogin {
  readonly sid: string
  readonly subject: string
}

/** Back-Channel Logout §2.4: no nonce, so that it can never pass for an ID token. */
const logoutToken = (
  server: AuthorizationServer,
  client: LoggedInClient,
  { sid, subject }: EndedLogin,
): Promise<string> => {
  const iat = server.now()
  const claims = {
    iss: server.issuer,
    sub: subjectFor(server, client, subject),
    aud: client.clientId,
    iat,
    exp: iat + tokenLifetime,
    jti: randomId(),
    events: { [logoutEvent]: {} },
    sid,
  }
  return signJwt(server.keys.signingKey(client.metadata.id_token_signed_response_alg), claims, 'logout+jwt')
}

interface Failure {
  /** For the log: a status, or what the outbound client says of it, which names the origin and never the token. */
  readonly reason: string
  readonly isFinal: boolean
}

/** One attempt; 400 is the client's own last word (Back-Channel Logout §2.8), anything else may pass. */
const attempt = async (
  server: AuthorizationServer,
  uri: string,
  token: string,
): Promise<Failure | undefined> => {
  try {
    const { status } = await server.outbound.request(uri, { form: { logout_token: token } })
    const isSuccess = status >= 200 && status < 300
    return isSuccess ? undefined : { reason: `answered with the status ${status}`, isFinal: status === 400 }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { reason: error.message, isFinal: error.refused }
  }
}

const deliver = async (
  server: AuthorizationServer,
  client: LoggedInClient,
  login: EndedLogin,
): Promise<void> => {
  const uri = client.metadata.backchannel_logout_uri
  if (uri === undefined) return
  for (const pause of [...pauses, undefined]) {
    const failure = await attempt(server, uri, await logoutToken(server, client, login))
    if (failure === undefined) return
    if (failure.isFinal || pause === undefined || server.closing.aborted) {
      server.options.logger.warn(
        `latchkey: client ${client.clientId} was not told of a logout: ${failure.reason}`,
      )
      return
    }
    // A server that closes makes its last attempt at once.
    await wait(pause, undefined, { ref: false, signal: server.closing }).catch(() => undefined)
  }
}

/** Tells these clients, beside whatever the user waits for. */
export const tellClients = (
  server: AuthorizationServer,
  login: EndedLogin,
  clients: readonly LoggedInClient[],
): Promise<void> => Promise.all(clients.map((client) => deliver(server, client, login))).then(() => {})

/**
 * Tells every client of a login that it has ended (OIDC Back-Channel Logout). The user never waits for a client:
 * deliveries run on their own, each with a few attempts.
 */
export const announceLogout = (server: AuthorizationServer, login: EndedLogin): void => {
  const work = async (): Promise<void> =>
    tellClients(server, login, await findClientsOfLogin(server.database, { sid: login.sid }))
  server.runInBackground(work())
}
