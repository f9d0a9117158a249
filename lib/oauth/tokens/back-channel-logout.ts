import { setTimeout as wait } from 'node:timers/promises'
import { signJwt } from '../../keys/jwt.ts'
import { randomId } from '../../keys/secrets.ts'
import { type Outbound, OutboundError } from '../../outbound/outbound.ts'
import { reachOf } from '../../outbound/reach.ts'
import { findClientsOfLogin, type LoggedInClient } from '../../storage/repositories/index.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { sidFor, subjectFor } from './user-claims.ts'

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Lifetime of a logout token in seconds; Back-Channel Logout §2.4 recommends at most two minutes. */
const tokenLifetime = 120

/** Milliseconds before each retry. */
const retryDelays = [1000, 5000]

/** A login that has ended. */
export interface EndedLogin {
  readonly sid: string
  readonly subject: string
}

/** Back-Channel Logout §2.4: without a nonce, so that it cannot be used as an ID token. */
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
    sid: sidFor(server, client, sid),
  }
  return signJwt(server.keys.signingKey(client.metadata.id_token_signed_response_alg), claims, 'logout+jwt')
}

interface Failure {
  /** For the log: names the origin, never the token. */
  readonly reason: string
  readonly isFinal: boolean
}

/** A status of 400 is final (Back-Channel Logout §2.8); any other failure is retried. */
const attempt = async (outbound: Outbound, uri: string, token: string): Promise<Failure | undefined> => {
  try {
    const { status } = await outbound.request(uri, { form: { logout_token: token } })
    const isSuccess = status >= 200 && status < 300
    return isSuccess ? undefined : { reason: `it responded with status ${status}`, isFinal: status === 400 }
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
  const { outbound } = reachOf(server, client)
  for (const delay of [...retryDelays, undefined]) {
    const failure = await attempt(outbound, uri, await logoutToken(server, client, login))
    if (failure === undefined) return
    if (failure.isFinal || delay === undefined || server.closing.aborted) {
      server.options.logger.warn(
        `latchkey: client ${client.clientId} did not receive a logout token: ${failure.reason}`,
      )
      return
    }
    // When the server closes, the next attempt is made at once and is the last.
    await wait(delay, undefined, { ref: false, signal: server.closing }).catch(() => undefined)
  }
}

/** Sends a logout token to each of these clients. */
export const notifyClients = (
  server: AuthorizationServer,
  login: EndedLogin,
  clients: readonly LoggedInClient[],
): Promise<void> => Promise.all(clients.map((client) => deliver(server, client, login))).then(() => {})

/**
 * Notifies every client of a login that it has ended (OIDC Back-Channel Logout), in the background and with retries,
 * so that the user does not wait.
 */
export const announceLogout = (server: AuthorizationServer, login: EndedLogin): void => {
  const work = async (): Promise<void> =>
    notifyClients(server, login, await findClientsOfLogin(server.database, { sid: login.sid }))
  server.runInBackground(work())
}
