import type { RequestHandler } from 'express'
import type { CountCall } from '../limits/call-limit.ts'
import type { Logger } from '../options/server.ts'
import { OAuthError } from '../protocol/errors.ts'
import { HostError } from '../protocol/problem.ts'
import { resourceMetadataUrl } from '../protocol/protected-resource.ts'
import { formatScope } from '../protocol/scope.ts'
import { bearer } from '../protocol/tokens/token-binding.ts'
import type { ApiRequest } from '../web/http/api-request.ts'
import { jsonError, oauthErrorOf } from '../web/http/json-error.ts'
import {
  type ChallengeFields,
  presentedToken,
  schemesFor,
  withChallenge,
} from '../web/http/presented-token.ts'
import { runHandler } from '../web/http/run-handler.ts'
import { type JsonAnswer, sendJsonAnswer } from '../web/http/send.ts'
import { assertSender, type SenderChecks } from '../web/http/sender.ts'
import {
  assertSufficient,
  countedCall,
  type GuardContext,
  NotChosenError,
  type Requirement,
} from './requirement.ts'
import type { AuthInfo, MaybeAuthorized, TokenGuard } from './types.ts'

/** The decision of a guard about a call. */
export interface GuardedCall {
  /** Undefined behind the guard of the MCP SDK, which shows the token alone. */
  readonly req: ApiRequest | undefined
  /** Of the guard. */
  readonly resource: string | undefined
  /** The token, if the call was let through. */
  readonly auth?: AuthInfo
  /** Why it was not. */
  readonly error?: unknown
}

/** Where access tokens are verified: in this process, or by the issuer in another one. */
export interface TokenSource extends GuardContext {
  /**
   * Verifies a token for a guard, which checks afterwards who sends it and whether it is enough.
   *
   * @param resource the resource of the guard
   * @throws OAuthError `invalid_token`, or 5xx if the token cannot be verified now
   */
  verify(token: string, resource: string | undefined): Promise<AuthInfo>
  /** The proofs of senders that guards of a resource can check. */
  senderChecks(resource: string | undefined): SenderChecks
  /**
   * The id of the user for whom a limit counts a call: the `sub` of a JWT may be made for its client alone (OIDC Core §8.1).
   * Without it the `sub` counts.
   */
  userOf?(auth: AuthInfo): Promise<string | undefined>
  /** Counts calls for guards with a limit; undefined if there is no store. */
  readonly countCall?: CountCall | undefined
  readonly logger: Logger
  /**
   * Tells what a guard decided; undefined if no feature observes calls.
   *
   * @returns the error id of a call that was refused, if the reason is stored
   */
  readonly observe?: ((call: GuardedCall) => string | undefined) | undefined
  /**
   * Logs an error of the server.
   *
   * @returns its error id; undefined for any other error
   */
  report(req: ApiRequest, error: OAuthError): string | undefined
}

/**
 * Tells a client how to get a token that is enough: every scope of the operation, the document about the resource
 * (RFC 9728 §5.1), and the login that is needed if this one is not enough (RFC 9470 §3).
 */
const challengeFields = (
  { scopes, ask, acrValues, maxAge, resource }: Requirement,
  error: unknown,
): ChallengeFields => {
  const code = error instanceof OAuthError ? error.code : undefined
  const isAboutLogin = code === 'insufficient_user_authentication'
  // After the first login a client asks for what is missing, and for nothing else.
  const wanted = code === 'insufficient_scope' || isAboutLogin ? scopes : [...new Set([...scopes, ...ask])]
  return {
    scope: formatScope(wanted) || undefined,
    acr_values: (isAboutLogin && acrValues.join(' ')) || undefined,
    max_age: isAboutLogin ? maxAge?.toString() : undefined,
    choice: error instanceof NotChosenError ? error.kind : undefined,
    resource_metadata: resource && resourceMetadataUrl(resource),
  }
}

type Headers = Readonly<Record<string, string>>
const noHeaders: Headers = {}

/** The decision of a guard about a request: the token, with headers for the answer, or the error to send. */
export type Judgement =
  | { readonly auth: AuthInfo; readonly headers: Headers }
  | { readonly auth?: undefined; readonly error: unknown; readonly answer: JsonAnswer }

/**
 * Applies the rules of a guard, and does not throw.
 *
 * @param given the request of the framework itself, from which the guard reads what the call is about
 */
export type Judge = (req: ApiRequest, given: unknown) => Promise<Judgement>

/** The rules of a guard, for a request of any framework. */
export const judgeBy = (source: TokenSource, requirement: Requirement): Judge => {
  const checks = source.senderChecks(requirement.resource)
  const dpop = checks.dpop !== undefined
  const { resource } = requirement
  const check = async (req: ApiRequest, given: unknown): Promise<{ auth: AuthInfo; headers: Headers }> => {
    const presented = presentedToken(req, { dpop })
    const auth = await source.verify(presented.value, resource)
    await assertSender(checks, req, presented, auth.binding ?? bearer)
    assertSufficient(auth, requirement, source, given)
    const user = requirement.limit?.by === 'user' ? await source.userOf?.(auth) : undefined
    const counted = countedCall(user === undefined ? auth : { ...auth, subject: user }, requirement)
    const headers = counted ? await source.countCall?.(...counted) : undefined
    return { auth, headers: headers ?? noHeaders }
  }
  return (req, given) =>
    check(req, given).then(
      (passed) => {
        source.observe?.({ req, resource, auth: passed.auth })
        return passed
      },
      (error: unknown) => {
        const observed = source.observe?.({ req, resource, error })
        const challenged = withChallenge(error, challengeFields(requirement, error), schemesFor(req, dpop))
        const refused = oauthErrorOf(challenged)
        const errorId = source.report(req, refused) ?? observed
        return { error, answer: jsonError(refused, errorId) }
      },
    )
}

/** Makes the middleware of Express: it sets `req.auth`, and answers what the rules refuse. */
export const createGuard = (source: TokenSource, requirement: Requirement): TokenGuard => {
  const judge = judgeBy(source, requirement)
  const guard: RequestHandler = (req, res, next) => {
    runHandler(res, next, async () => {
      const judgement = await judge(req, req)
      if (judgement.auth === undefined) {
        if (res.headersSent) throw judgement.error
        return sendJsonAnswer(res, judgement.answer)
      }
      const { auth, headers } = judgement
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
      // The host may have declared another type.
      Object.assign(req, { auth })
      next()
    })
  }
  const auth = (req: Express.Request): AuthInfo => {
    const { auth }: MaybeAuthorized = req
    const info = auth as Partial<AuthInfo> | undefined
    if (info?.claims === undefined) throw new HostError('requireToken() did not run for this request')
    assertSufficient(info as AuthInfo, requirement, source, req)
    return info as AuthInfo
  }
  return Object.assign(guard, { auth }) as TokenGuard
}
