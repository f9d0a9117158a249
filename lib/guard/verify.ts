import { apiRequestOf, type NodeRequest, type WebRequest } from '../web/http/api-request.ts'
import type { Trusts } from '../web/http/trust-proxy.ts'
import { type Judge, judgeBy, type TokenSource } from './guard.ts'
import type { Requirement } from './requirement.ts'
import type { AuthInfo, RequireTokenOptions, UserAuthInfo } from './types.ts'

/** A call that may be served. */
export interface VerifiedCall<Auth extends AuthInfo = AuthInfo> {
  /** The verified token, as `req.auth` behind a guard. */
  readonly auth: Auth
  /** Headers that the answer must have, such as a nonce for the next DPoP proof. */
  readonly headers: Readonly<Record<string, string>>
  readonly status?: undefined
  readonly body?: undefined
}

/** A call that must not be served: what to answer. */
export interface RefusedCall {
  readonly auth?: undefined
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON; empty for HEAD. */
  readonly body: string
}

/** Verifies the access token of a request of any framework. */
export interface VerifyRequest<Kind extends string = string> {
  /**
   * Applies the rules of `requireToken()` to a request of Node, or to a web-standard one.
   *
   * @param scope as for `requireToken()`
   * @param options as for `requireToken()`; `choice` has the ids themselves: `{ project: id }`
   * @returns the token, or the answer that `requireToken()` would send
   * @throws OptionsError for a wrong scope or option, OAuthError `invalid_scope` for a malformed scope
   * @example
   * const { auth, status, headers, body } = await oauth.verify(request, 'orders:read')
   * if (auth === undefined) return new Response(body, { status, headers })
   */
  (
    request: NodeRequest | WebRequest,
    scope?: string,
    options?: RequireTokenOptions<Kind> & { user?: true },
  ): Promise<VerifiedCall<UserAuthInfo<Kind>> | RefusedCall>
  (
    request: NodeRequest | WebRequest,
    scope: string | undefined,
    options: RequireTokenOptions<Kind>,
  ): Promise<VerifiedCall<AuthInfo<Kind>> | RefusedCall>
}

/** More than an app has routes. Beyond it, the arguments of a call are checked each time. */
const mostJudges = 500

/** Text that is the same for arguments that mean the same. What JSON cannot hold is never a valid option, and neither is null. */
const keyOf = (scope: string | undefined, options: RequireTokenOptions | undefined): string =>
  JSON.stringify({ scope, options }, (_name, value: unknown) =>
    /function|symbol|bigint/.test(typeof value) ? null : value,
  )

/**
 * Makes `oauth.verify`. It keeps the answer of a guard instead of sending it. The arguments of a guard are checked once, and
 * not with each request.
 *
 * @param requirementOf checks the arguments of `requireToken()`
 * @param trusts which proxies are trusted
 */
export const verifyBy = (
  source: TokenSource,
  requirementOf: (scope: string | undefined, options: RequireTokenOptions | undefined) => Requirement,
  trusts: Trusts,
): VerifyRequest => {
  const judges = new Map<string, Judge>()
  const judgeFor = (scope: string | undefined, options: RequireTokenOptions | undefined) => {
    // Each call is about something else.
    if (options?.choice !== undefined) return judgeBy(source, requirementOf(scope, options))
    const key = keyOf(scope, options)
    const known = judges.get(key)
    if (known) return known
    const judge = judgeBy(source, requirementOf(scope, options))
    if (judges.size < mostJudges) judges.set(key, judge)
    return judge
  }
  const verify = async (
    request: NodeRequest | WebRequest,
    scope?: string,
    options?: RequireTokenOptions,
  ): Promise<VerifiedCall | RefusedCall> => {
    const judge = judgeFor(scope, options)
    const api = apiRequestOf(request, trusts)
    const { method, originalUrl, path, headers, ip, socket, app } = api
    const added: Record<string, string> = {}
    const res = {
      setHeader: (name: string, value: string): void => {
        added[name] = value
      },
    }
    const judgement = await judge({ method, originalUrl, path, headers, ip, socket, app, res }, request)
    if (judgement.auth !== undefined)
      return { auth: judgement.auth, headers: { ...added, ...judgement.headers } }
    const { answer } = judgement
    return { ...answer, headers: { ...added, ...answer.headers }, body: method === 'HEAD' ? '' : answer.body }
  }
  return verify as VerifyRequest
}
