import type { AuthorizationRequest } from './authorization-request.ts'
import { consentEntries } from './claims-request.ts'
import { type Client, mayRememberConsent } from './client.ts'
import type { Consent, ConsentReceipt, ConsentTerms } from './consent.ts'
import type { ErrorCode } from './errors.ts'
import type { Login } from './login.ts'
import type { OrganizationChoice } from './organization.ts'
import { redirectUriKind } from './redirect-uri.ts'
import { isFrontChannel } from './response-type.ts'
import { intersectScopes, isWithinScopes } from './scope.ts'

/** What the user answered on the consent page, and under which login. */
export interface Decision {
  readonly allowed: boolean
  readonly sid: string
  readonly scopes: readonly string[]
  /** The workspace that it was allowed for. */
  readonly organization?: string
  /** Nothing but the workspace was asked for, and nothing is allowed by it that was not before. */
  readonly organizationOnly?: boolean
  /** What was shown, when it was allowed. */
  readonly receipt?: ConsentReceipt
}

/** Everything that decides; nothing else is looked at. */
export interface AuthorizationContext {
  readonly request: AuthorizationRequest
  readonly client: Client
  readonly login: Login | undefined
  /** The subject of the login as this client knows it; the login's own unless subjects are pairwise. */
  readonly subject?: string
  /** For which workspace the request is; absent where the host knows none. */
  readonly organization?: OrganizationChoice
  /** What the user allowed this client before, for that workspace, as far as it holds for this request. */
  readonly consent: Consent | undefined
  /** All that is remembered of it, to be carried on by the next answer. */
  readonly terms?: ConsentTerms
  readonly decision: Decision | undefined
  /** The login that the request found when it came; another one since then is a renewed login. */
  readonly sidAtStart: string | undefined
  /** The login that the user chose to go on with, where they were asked to choose. */
  readonly selectedSid?: string
  /** Epoch seconds. */
  readonly now: number
}

export type NextStep =
  | { readonly step: 'login' }
  | { readonly step: 'select-account' }
  | { readonly step: 'consent'; readonly login: Login }
  | {
      readonly step: 'issue'
      readonly login: Login
      readonly scopes: readonly string[]
      readonly organization: string | undefined
    }
  | { readonly step: 'error'; readonly code: ErrorCode; readonly description: string }

const noOrganizations: OrganizationChoice = { outcome: 'settled', organization: undefined }

/**
 * The one decision of the authorization endpoint (OIDC Core §3.1.2.3, §3.1.2.4): first who, then for which workspace,
 * then whether.
 *
 * @example nextStep({ request, client, login: undefined, … }) // { step: 'login' }
 */
export const nextStep = (context: AuthorizationContext): NextStep => {
  const { request, login, decision, organization: choice = noOrganizations } = context
  const silent = request.prompt.includes('none')

  if (login === undefined || mustRenewLogin(context, login)) {
    return silent ? failure('login_required', 'the user must sign in') : { step: 'login' }
  }
  if (isSomebodyElse(context, login)) return failure('login_required', 'another user has signed in')
  if (mustSelectAccount(context, login)) return { step: 'select-account' }
  // A decision counts only under the login that made it, or a consent could be swapped between users.
  const answer = decision?.sid === login.sid ? decision : undefined
  if (answer?.allowed === false) return failure('access_denied', 'the user denied the request')
  if (choice.outcome === 'denied') return failure('access_denied', choice.description)
  if (choice.outcome === 'open') {
    return silent
      ? failure('interaction_required', 'the user must choose a workspace')
      : { step: 'consent', login }
  }
  const { organization } = choice
  // What was allowed for a workspace that the user has left meanwhile counts for no other.
  if (answer && !answer.organizationOnly && answer.organization === organization) {
    return { step: 'issue', login, scopes: intersectScopes(request.scopes, answer.scopes), organization }
  }
  if (needsConsent(context)) {
    return silent ? failure('consent_required', 'the user must consent') : { step: 'consent', login }
  }
  return { step: 'issue', login, scopes: request.scopes, organization }
}

/** A renewal is any other login than the one at the start; clocks are not compared, so a replayed URL cannot skip it. */
const mustRenewLogin = (context: AuthorizationContext, login: Login): boolean => {
  const { request, sidAtStart, now } = context
  const tooOld = request.maxAge !== undefined && now - login.authTime > request.maxAge
  const wanted = request.prompt.includes('login') || request.maxAge === 0
  return (wanted || tooOld || isSomebodyElse(context, login)) && login.sid === sidAtStart
}

/** The account is chosen by going on with the login that was there, or by another login since. */
const mustSelectAccount = (
  { request, sidAtStart, selectedSid }: AuthorizationContext,
  login: Login,
): boolean =>
  request.prompt.includes('select_account') && login.sid === sidAtStart && login.sid !== selectedSid

/** OIDC Core §3.1.2.1: an `id_token_hint` names the only user who may answer. */
const isSomebodyElse = ({ request, subject }: AuthorizationContext, login: Login): boolean =>
  request.hintedSubject !== undefined && request.hintedSubject !== (subject ?? login.subject)

/** What decides whether the user is asked. */
type Asking = Pick<AuthorizationContext, 'request' | 'client' | 'consent'>

/** Whether the user must be asked what the client may do; in which workspace is another question. */
export const needsConsent = (asking: Asking): boolean => !isTrusted(asking) && mustAskConsent(asking)

/** A client of the host's own needs no consent, unless anybody on the device could pose as it. */
const isTrusted = ({ request, client }: Asking): boolean =>
  client.metadata.first_party && !request.prompt.includes('consent') && mayBeServedInSilence(client, request)

const mustAskConsent = ({ request, client, consent }: Asking): boolean =>
  request.prompt.includes('consent') ||
  consent === undefined ||
  !isWithinScopes(consentEntries(request), consent.scopes) ||
  !mayBeServedInSilence(client, request)

/** A token in the answer itself is worth something to whoever listens at the redirect URI, whatever secret the client has. */
const mayBeServedInSilence = (client: Client, { redirectUri, responseType }: AuthorizationRequest): boolean =>
  mayRememberConsent(client, redirectUri) &&
  (!isFrontChannel(responseType) || redirectUriKind(redirectUri) === 'https')

const failure = (code: ErrorCode, description: string): NextStep => ({ step: 'error', code, description })
