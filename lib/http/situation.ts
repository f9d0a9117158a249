import type { Request } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import type { Client } from '../protocol/client.ts'
import { type Consent, type ConsentTerms, standingConsent } from '../protocol/consent.ts'
import type { Login } from '../protocol/login.ts'
import type { Situation } from '../protocol/next-step.ts'
import { type Arrival, findConsent } from '../repositories/index.ts'
import { subjectFor } from '../tokens/subject.ts'
import type { User } from '../users/users.ts'
import { meaningOf } from './consent-scopes.ts'
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

/** What a user allowed a client before: all that is remembered, and what of it holds where this request is answered. */
interface Remembered {
  readonly terms: ConsentTerms | undefined
  readonly consent: Consent | undefined
}

/** @param read what was read of it already */
export const rememberedConsent = async (
  server: AuthorizationServer,
  { clientId, redirectUri }: AuthorizationRequest,
  { subject }: Login,
  read?: { readonly terms: ConsentTerms | undefined },
): Promise<Remembered> => {
  const { terms } = read ?? { terms: await findConsent(server.database, { subject, clientId }) }
  const meaning = (entry: string): string => meaningOf(server, entry)
  return { terms, consent: terms && standingConsent(terms, redirectUri, meaning) }
}

/** Gathers all that the next step of a request depends on. */
export const situationOf = async (
  server: AuthorizationServer,
  req: Request,
  { client, request, waiting, arrival }: Subject,
): Promise<{ readonly situation: Situation; readonly user: User | undefined }> => {
  const known = arrival?.known
  const { login, user } = (await activeLogin(server, req, arrival && { login: known?.login })) ?? {}
  const read = login?.sid === known?.login.sid ? known : undefined
  const remembered = login && (await rememberedConsent(server, request, login, read))
  const subject = login && subjectFor(server, client, login.subject)
  const situation: Situation = {
    ...{ request, client, login, subject },
    consent: remembered?.consent,
    terms: remembered?.terms,
    decision: waiting?.decision,
    sidAtStart: waiting ? waiting.sid : login?.sid,
    selectedSid: waiting?.selectedSid,
    now: server.now(),
  }
  return { situation, user }
}
