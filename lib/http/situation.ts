import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { Client } from '../protocol/client.ts'
import type { Login } from '../protocol/login.ts'
import type { Consent, Situation } from '../protocol/next-step.ts'
import { type Arrival, findConsent } from '../repositories/index.ts'
import { subjectFor } from '../tokens/subject.ts'
import type { User } from '../users/users.ts'
import { currentLogin } from './login.ts'
import type { OpenRequest } from './waiting-request.ts'

/** A login together with the user whom it is of, as the host's table has them now. */
export interface ActiveLogin {
  readonly login: Login
  readonly user: User
}

/** Who is logged in and may still be served; a disabled user counts as nobody. */
export const activeLogin = async (
  server: AuthorizationServer,
  req: Request,
  read?: { readonly login: Login | undefined },
): Promise<ActiveLogin | undefined> => {
  const login = await currentLogin(server, req, read)
  const user = login && (await server.users.find(login.subject))
  return login && user && { login, user }
}

/** A request that has just arrived, with what was read of its login; or one that has waited. */
interface Subject {
  readonly client: Client
  readonly request: AuthorizationRequest
  readonly waiting?: OpenRequest
  readonly arrival?: Arrival
}

/** Gathers all that the next step of a request depends on. */
export const situationOf = async (
  server: AuthorizationServer,
  req: Request,
  { client, request, waiting, arrival }: Subject,
): Promise<{ readonly situation: Situation; readonly user: User | undefined }> => {
  const known = arrival?.known
  const { login, user } = (await activeLogin(server, req, arrival && { login: known?.login })) ?? {}
  const isKnown = login !== undefined && login.sid === known?.login.sid
  const find = (): Promise<Consent | undefined> | undefined =>
    login && findConsent(server.database, { subject: login.subject, clientId: client.clientId })
  const consent = isKnown ? known?.consent : await find()
  const sidAtStart = waiting ? waiting.sid : login?.sid
  const decision = waiting?.decision
  const subject = login && subjectFor(server, client, login.subject)
  return {
    situation: { request, client, login, subject, consent, decision, sidAtStart, now: server.now() },
    user,
  }
}
