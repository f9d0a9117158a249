import {
  askedKinds,
  type ChoiceKind,
  type Choices,
  chosenOf,
  intersectChoices,
  isWithinChoices,
  limitedTo,
} from '../choices.ts'
import { type Client, mayRememberConsent } from '../clients/client.ts'
import { redirectUriKind } from '../clients/redirect-uri.ts'
import { type PlainReason, type ReasonOf, refusal } from '../refusal.ts'
import { intersectScopes, isWithinScopes } from '../scope.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { type ClaimsRequest, narrowedClaims, type RequestedAcr } from './claims-request.ts'
import {
  type Consent,
  type ConsentReceipt,
  type ConsentTerms,
  claimEntry,
  consentEntries,
} from './consent.ts'
import { isSince, type Login, provenTime } from './login.ts'
import type { OrganizationChoice, OrganizationLack } from './organization.ts'
import { isFrontChannel } from './response-type.ts'

/** The user's decision on the consent page, and the login that made it. */
export interface Decision {
  readonly allowed: boolean
  readonly sid: string
  /** The allowed lines of the page, as {@link consentLines} names them. */
  readonly scopes: readonly string[]
  /** The organization it was made for. */
  readonly organization?: string
  /** Only the organization was chosen or confirmed, so the decision allows nothing new. */
  readonly organizationOnly?: boolean
  /** With `organizationOnly`: the organization that the user left to choose another one. */
  readonly left?: string
  /** With `organizationOnly`: the lines that were ticked when the user went to choose another organization. */
  readonly ticked?: readonly string[]
  /** The page as it was; present if the user allowed it. */
  readonly receipt?: ConsentReceipt
  /** The things that the user chose, by kind. */
  readonly choices?: Choices
  /** When it ends by the user's wish, in epoch seconds. */
  readonly until?: number
  /** With `organizationOnly`: what was filled in when the user went to choose things. */
  readonly draft?: ConsentDraft
}

/** How long a user lets a client have access; the seconds of a limit. */
export const durations = { lasting: undefined, month: 2_592_000, day: 86_400 } as const
export type Duration = keyof typeof durations

/** The fields of the consent page as the user left them, until it is answered. */
export interface ConsentDraft {
  readonly duration?: Duration
  /** Whether they chose all things of a kind, or some. */
  readonly modes: Readonly<Record<string, 'all' | 'these'>>
  /** The ids of some, by kind. */
  readonly things: Readonly<Record<string, readonly string[]>>
  /** The ticks on the page of choosing that are not used yet. */
  readonly picking?: Picking
}

/** The page on which a user chooses among many things. */
export interface Picking {
  readonly kind: string
  readonly ids: readonly string[]
  readonly query: string
  /** Where each page before this one and this page begin; empty on the first page. */
  readonly trail: readonly string[]
}

/** Everything that the next step depends on. */
export interface AuthorizationContext<UserLogin extends Login = Login> {
  readonly request: AuthorizationRequest
  readonly client: Client
  readonly login: UserLogin | undefined
  /** The subject of the login as this client sees it, if the request names one; differs only for pairwise subjects. */
  readonly subject?: string
  /** The organization that the request is for; absent if the host has none. */
  readonly organization?: OrganizationChoice
  /** The remembered consent for that organization, as far as it still holds for this request. */
  readonly consent: Consent | undefined
  /** Whether the user has allowed the client anything that still holds, in any organization. */
  readonly hasAllowed?: boolean
  /** The full remembered consent, which the next decision updates. */
  readonly terms?: ConsentTerms
  /** How often that was narrowed. */
  readonly narrowed?: number
  /** The kinds of things that users choose among; absent if the host has none. */
  readonly kinds?: readonly ChoiceKind[]
  readonly decision: Decision | undefined
  /** The login at the start of the request; undefined also if the browser did not send its session. */
  readonly sidAtStart: string | undefined
  /** The login that the user selected on the account selection page, or confirmed the request with. */
  readonly selectedSid?: string
  /** When the request arrived, in epoch seconds. */
  readonly requestedAt: number
  /** Epoch seconds. */
  readonly now: number
}

/** A reason for which a client gets an error instead of a code. */
export type SignInReason = Extract<
  PlainReason,
  ReasonOf<
    | 'access_denied'
    | 'login_required'
    | 'consent_required'
    | 'interaction_required'
    | 'unmet_authentication_requirements'
  >
>

export const reasonOfLack: Readonly<Record<OrganizationLack, SignInReason>> = {
  none: 'organization_missing',
  other: 'organization_foreign',
}

export type NextStep<UserLogin extends Login = Login> =
  | { readonly step: 'login' }
  | { readonly step: 'select-account' }
  /** The user must confirm the request, on the page of its kind. */
  | { readonly step: 'confirm' }
  /** The user must choose an organization. */
  | { readonly step: 'organization' }
  | { readonly step: 'consent'; readonly login: UserLogin }
  /** The user learns that there is no organization for the request. Who gives up gets the error. */
  | {
      readonly step: 'no-organization'
      readonly login: UserLogin
      readonly lack: OrganizationLack
    }
  | {
      readonly step: 'issue'
      readonly login: UserLogin
      readonly scopes: readonly string[]
      /** The claims requested individually, as far as they are allowed. */
      readonly claims: ClaimsRequest | undefined
      readonly organization: string | undefined
      /** The things that the user chose; absent if the scopes are about none. */
      readonly choices?: Choices
      /** When it ends by the user's wish, in epoch seconds. */
      readonly until?: number
    }
  | { readonly step: 'error'; readonly reason: SignInReason }

const noOrganizations: OrganizationChoice = { outcome: 'settled', organization: undefined }

/**
 * Decides the next step of an authorization request (OIDC Core §3.1.2.3, §3.1.2.4): first the user, then the
 * organization, then consent.
 *
 * @example nextStep({ request, client, login: undefined, … }) // { step: 'login' }
 */
export const nextStep = <UserLogin extends Login>(
  context: AuthorizationContext<UserLogin>,
): NextStep<UserLogin> => {
  const { request, login, decision, organization: choice = noOrganizations } = context
  const silent = request.prompt.includes('none')

  if (silent && login !== undefined && !mayAnswerSilently(context)) return consentRequired
  if (login === undefined || mustRenewLogin(context, login)) {
    return silent ? failure('login_missing') : { step: 'login' }
  }
  if (isUnexpectedUser(context, login)) return failure('login_other_user')
  if (!request.acrIsVoluntary && lacksLevel(request, login)) return unmetLevel
  if (mustSelectAccount(context, login)) return { step: 'select-account' }
  // A decision counts only under the login that made it: otherwise one user could consent for another.
  const ownDecision = decision?.sid === login.sid ? decision : undefined
  if (ownDecision?.allowed === false) return failure('user_denied')
  if (mustConfirm(context, login)) return { step: 'confirm' }
  if (choice.outcome === 'denied') {
    const { lack } = choice
    return silent ? failure(reasonOfLack[lack]) : { step: 'no-organization', login, lack }
  }
  if (choice.outcome === 'open') {
    if (silent) return failure('organization_not_chosen')
    return choice.suggested === undefined ? { step: 'organization' } : { step: 'consent', login }
  }
  const { organization } = choice
  // A decision for one organization does not count for another, even if the user has left the first meanwhile.
  if (ownDecision && !ownDecision.organizationOnly && ownDecision.organization === organization) {
    const scopes = intersectScopes(request.scopes, ownDecision.scopes)
    const claims = narrowedClaims(request.claims, (name) => ownDecision.scopes.includes(claimEntry(name)))
    const { choices = {}, until } = ownDecision
    return {
      step: 'issue',
      login,
      scopes,
      claims,
      organization,
      ...grantedChoices(context, scopes, choices, until),
    }
  }
  if (needsConsent(context)) {
    return silent ? consentRequired : { step: 'consent', login }
  }
  const { scopes, claims } = request
  const { choices, until } = standingChoices(context)
  return {
    step: 'issue',
    login,
    scopes,
    claims,
    organization,
    ...grantedChoices(context, scopes, choices, until),
  }
}

/** The part of a choice that is about the granted scopes, for a host that has kinds. */
const grantedChoices = (
  { kinds = [] }: AuthorizationContext,
  scopes: readonly string[],
  choices: Choices,
  until: number | undefined,
): { choices?: Choices; until?: number } => {
  const asked = Object.fromEntries(askedKinds(kinds, scopes).map(({ kind }) => [kind, 'all' as const]))
  return {
    ...(Object.keys(asked).length > 0 && { choices: intersectChoices(choices, asked) }),
    ...(until !== undefined && { until }),
  }
}

/** The choice that stands without a page: all for a client that needs no consent, or else the remembered one. */
const standingChoices = (context: ConsentContext): { choices: Choices; until?: number } => {
  const { kinds = [], terms, request } = context
  const all = Object.fromEntries(kinds.map(({ kind }) => [kind, 'all' as const]))
  const { choices = {}, until } = isTrusted(context) ? { choices: all } : (terms ?? {})
  return { choices: limitedTo(choices, request.suggested ?? {}), ...(until !== undefined && { until }) }
}

/** Whether things must be chosen that no earlier choice covers. */
const lacksChoice = ({ request: { scopes, suggested = {} }, terms, kinds = [] }: ConsentContext): boolean => {
  const { choices = {} } = terms ?? {}
  const asked = askedKinds(kinds, scopes)
  return (
    !isWithinChoices(suggested, choices) ||
    asked.some(({ kind, all }) => {
      const chosen = chosenOf(choices, kind)
      return chosen === undefined || (chosen === 'all' && !all)
    })
  )
}

/** Whether the request names authentication levels and the login has none of them. */
export const lacksLevel = ({ acrValues }: AuthorizationRequest, { acr }: Login): boolean =>
  acrValues !== undefined && !acrValues.some((value) => value === acr)

const mustRenewLogin = (context: AuthorizationContext, login: Login): boolean => {
  const { request, now } = context
  const tooOld = request.maxAge !== undefined && now - provenTime(login) > request.maxAge
  const requested = request.prompt.includes('login') || request.maxAge === 0
  if (requested || tooOld || lacksLevel(request, login)) return !isRenewed(context, login)
  return isUnexpectedUser(context, login) && !isRenewed(context, login)
}

/**
 * A renewal is a login that is not the one at the start, and not older than the request. An older one may be another login
 * than that at the start, too: the browser left its session out at first, or the host has several.
 */
const isRenewed = ({ sidAtStart, requestedAt }: AuthorizationContext, login: Login): boolean =>
  login.sid !== sidAtStart && isSince(provenTime(login), requestedAt)

/** The user selects an account by continuing with the current login, or by signing in again. */
const mustSelectAccount = (context: AuthorizationContext, login: Login): boolean =>
  context.request.needsConfirmation !== true &&
  context.request.prompt.includes('select_account') &&
  login.sid !== context.selectedSid &&
  !isRenewed(context, login)

/** Each login confirms for itself. */
const mustConfirm = ({ request, selectedSid }: AuthorizationContext, login: Login): boolean =>
  request.needsConfirmation === true && login.sid !== selectedSid

/** OIDC Core §3.1.2.1: an `id_token_hint` names the only user who may answer. */
const isUnexpectedUser = ({ request, subject }: AuthorizationContext, login: Login): boolean =>
  request.hintedSubject !== undefined && request.hintedSubject !== (subject ?? login.subject)

/**
 * Whether a client may learn without a page who the user is, when they signed in and for which organization: only one that
 * the user has allowed something, or that needs no consent (OIDC Core §3.1.2.6).
 */
const mayAnswerSilently = ({ request, client, hasAllowed }: AuthorizationContext): boolean =>
  (client.metadata.first_party || hasAllowed === true) && maySkipConsent(client, request)

/** Everything that decides whether the user must consent. */
type ConsentContext = Pick<AuthorizationContext, 'request' | 'client' | 'consent' | 'terms' | 'kinds'>

/** Whether the user must decide what the client may do; the organization is a separate question. */
export const needsConsent = (context: ConsentContext): boolean =>
  !isTrusted(context) && mustAskConsent(context)

/** A first-party client needs no consent, unless any program on the device could pose as it. */
const isTrusted = ({ request, client, kinds = [] }: ConsentContext): boolean =>
  client.metadata.first_party &&
  askedKinds(kinds, request.scopes).every(({ all }) => all) &&
  request.alwaysAsks !== true &&
  !request.prompt.includes('consent') &&
  maySkipConsent(client, request)

const mustAskConsent = ({ request, client, consent, terms, kinds }: ConsentContext): boolean =>
  request.prompt.includes('consent') ||
  request.alwaysAsks === true ||
  consent === undefined ||
  !isWithinScopes(consentEntries(request), consent.scopes) ||
  lacksChoice({ request, client, consent, terms, kinds }) ||
  !maySkipConsent(client, request)

/** A token in the response can be used by anyone who receives it, even if the client has a secret. */
const maySkipConsent = (client: Client, { redirectUri, responseType }: AuthorizationRequest): boolean =>
  mayRememberConsent(client, redirectUri) &&
  (!isFrontChannel(responseType) || (redirectUri !== undefined && redirectUriKind(redirectUri) === 'https'))

/** The client gets this error. */
export const failure = (reason: SignInReason): Extract<NextStep, { step: 'error' }> => ({
  step: 'error',
  reason,
})

const consentRequired = failure('consent_missing')

/**
 * RFC 9470 §5: the user has signed in again without reaching the level. Tokens of a lower level would be refused by the
 * API that asked for it, and the client would start again.
 */
export const unmetLevel = failure('level_not_reached')

/**
 * The request with the levels that the host asks for, among those that the request allows. Each time it allows fewer, so that
 * the host cannot ask for ever.
 *
 * @param wanted the levels that the host asks for; the login has none of them
 * @param supported the option `acrValues`
 * @returns undefined if no login can meet both
 */
export const raisedRequest = (
  request: AuthorizationRequest,
  wanted: readonly string[],
  supported: readonly string[],
): AuthorizationRequest | undefined => {
  const { acrIsVoluntary, acrValues, ...others } = request
  const own = acrIsVoluntary ? undefined : acrValues
  const levels = supported.filter(
    (level) => wanted.includes(level) && (own === undefined || own.includes(level)),
  )
  return levels.length > 0 ? { ...others, acrValues: levels, acrIsRaised: true } : undefined
}

type Levels = Pick<AuthorizationRequest, 'acrValues' | 'acrIsVoluntary'>

/**
 * The authentication levels that the login should have. RFC 9470 §5 makes those of `acr_values` required, and OIDC Core
 * §5.5.1.1 those of an essential claim; those of a voluntary claim are asked for, but the user may not reach them. Without
 * declared levels only an essential claim has an effect.
 *
 * @param parameter `acr_values`, separated by spaces; without it and the claim, the client's `default_acr_values`
 * @param claim what the parameter `claims` says about `acr`, which comes first
 * @param supported the option `acrValues`
 * @returns nothing if the request names no level
 * @throws OAuthError `unmet_authentication_requirements` if no requested level is supported
 */
export const requestedLevels = (
  parameter: string | undefined,
  claim: RequestedAcr | undefined,
  supported: readonly string[],
): Levels => {
  const requested = claim?.values ?? parameter?.split(' ').filter((value) => value !== '') ?? []
  const levels = supported.filter((level) => requested.includes(level))
  // With both, OIDC Core leaves open what counts; RFC 9470 does not.
  const isVoluntary = claim?.essential === false && parameter === undefined
  if (levels.length > 0) return { acrValues: levels, ...(isVoluntary && { acrIsVoluntary: true }) }
  if (requested.length > 0 && !isVoluntary && (supported.length > 0 || claim?.essential)) {
    throw refusal('level_unsupported')
  }
  return {}
}

/**
 * The request as it is to be decided: a voluntary level is no longer asked for once the user has come back from signing in,
 * or if nothing may be shown.
 */
export const withSettledLevel = (request: AuthorizationRequest, returned: boolean): AuthorizationRequest => {
  const { acrIsVoluntary, acrValues: _, ...withoutLevel } = request
  return acrIsVoluntary && (returned || request.prompt.includes('none')) ? withoutLevel : request
}
