import type { PageContext } from '../http/context.ts'
import type { AuthorizationContext, NextStep } from '../protocol/next-step.ts'
import type { RequestToDecide, UserLogin } from './context.ts'

/** A decided request: what is granted, by which login, on the basis of what. */
export interface Granted {
  readonly authorization: AuthorizationContext<UserLogin>
  readonly step: Extract<NextStep<UserLogin>, { step: 'issue' }>
}

/** How one kind of request continues. Login, account and consent pages know nothing of it. */
export interface PendingRequestKind {
  /** As it is stored with the pending request. */
  readonly name: string
  /** The endpoint that continues it by GET. */
  readonly path: string
  /** Issues what was granted, and answers; `signed-out` if the login has just ended, and nothing was answered. */
  grant(context: PageContext, asked: RequestToDecide, granted: Granted): Promise<'answered' | 'signed-out'>
  /** Ends the request with an error. */
  refuse(
    context: PageContext,
    asked: RequestToDecide,
    error: Extract<NextStep, { step: 'error' }>,
  ): Promise<void>
}
