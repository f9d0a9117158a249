import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { Client } from '../protocol/client.ts'
import type { Login } from '../protocol/login.ts'
import type { Situation } from '../protocol/next-step.ts'
import { findConsent } from '../repositories/index.ts'
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
): Promise<ActiveLogin | undefined> => {
  const login = await currentLogin(server, req)
  const user = login && (await server.users.find(login.subject))
  return login && user && { login, user }
}

/** Gathers all that the next step of a request depends on. */
export const situationOf = async (
  server: AuthorizationServer,
  req: Request,
  { client, request, waiting }: { client: Client; request: AuthorizationRequest; waiting?: OpenRequest },
): Promise<{ readonly situation: Situation; readonly user: User | undefined }> => {
  const { login, user } = (await activeLogin(server, req)) ?? {}
  const consent =
    login && (await findConsent(server.database, { subject: login.subject, clientId: client.clientId }))
  const sidAtStart = waiting ? waiting.sid : login?.sid
  const decision = waiting?.decision
  const subject = login && subjectFor(server, client, login.subject)
  return {
    situation: { request, client, login, subject, consent, decision, sidAtStart, now: server.now() },
    user,
  }
}
