import type { AccessStep } from '../../options/access.ts'
import type { Client } from '../../protocol/clients/client.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import type { IssueStep, Obstacle, Refusal, RequestFacts } from '../../protocol/requests/decide.ts'
import type { Decision } from '../../protocol/requests/next-step.ts'
import type { KnownLogin, PendingRequestRecord } from '../../storage/repositories/index.ts'
import type { User } from '../../users/users.ts'
import type { Outcome, PageContext } from '../../web/http/context.ts'
import type { BoundBrowser } from '../../web/sessions/browser-binding.ts'
import type { ActiveLogin } from '../../web/sessions/login.ts'
import { extensionPoint } from '../extension-point.ts'
import type { AllowedUser } from '../tokens/allowed.ts'

// A request on its way through the browser, and the kinds of it.

/** A validated authorization request with its client. */
export interface ClientRequest {
  readonly client: Client
  readonly request: AuthorizationRequest
}

/** A request at the authorization endpoint, where it has a browser. */
export interface IncomingRequest extends ClientRequest {
  /** The login of the session, if it is valid. */
  readonly knownLogin: KnownLogin | undefined
}

/** A pending request in the browser that started it, with its client as it is now. */
export interface PendingRequest extends PendingRequestRecord {
  /** The secret id, as the pages carry it. */
  readonly secret: string
  readonly client: Client
  readonly browser: BoundBrowser
  /** The login of the session, if it is valid. */
  readonly knownLogin: KnownLogin | undefined
  /** The number of revocations when the page was asked for. */
  readonly since: number
}

/** A request to decide: one that has just arrived, or a pending one. */
export interface RequestToDecide extends IncomingRequest {
  /** How it continues: the name of a kind. */
  readonly kind: string
  readonly pending?: PendingRequest
}

/** News about a request: from the form that was just sent, or from the way in which the browser comes. */
export interface Changes {
  readonly active?: ActiveLogin
  readonly decision?: Decision
  readonly selectedSid?: string
  /** The browser comes back from the login page of the host. */
  readonly returned?: boolean
  /** The user has just signed out: who is signed in is read again. */
  readonly signedOut?: boolean
}

/** A login together with its user, so that a decision for the one is a decision for the other. */
export type UserLogin = ActiveLogin['login'] & { readonly user: User }

/** A request in its browser, with the login that is there when the browser first opens it. */
export interface OpenedRequest {
  readonly request: RequestToDecide
  readonly changes: Changes
}

/** How one kind of request continues. Login, account and consent pages know nothing of it. */
export interface PendingRequestKind {
  /** As it is stored with the pending request, and as `access.allow` sees it. */
  readonly name: AccessStep
  /** The endpoint that continues it by GET. */
  readonly path: string
  /** Issues what was granted. @returns the answer, or why nothing could be issued */
  grant(
    context: PageContext,
    request: RequestToDecide,
    facts: RequestFacts<UserLogin>,
    step: IssueStep<UserLogin, AllowedUser>,
  ): Promise<Outcome | Obstacle>
  /**
   * Ends the request with an error.
   *
   * @throws AuthorizationResponseError if the client gets it
   */
  refuse(context: PageContext, request: RequestToDecide, refusal: Refusal): Promise<Outcome>
}

export const featureRequestKinds = extensionPoint<PendingRequestKind>('oauth.requestKinds')

/** Opens the authorization request that parameters only name; undefined if it is not one of the feature. */
export type RequestOpener = (
  context: PageContext,
  parameters: Parameters,
) => Promise<OpenedRequest | undefined>

export const requestOpeners = extensionPoint<RequestOpener>('oauth.openRequest')
