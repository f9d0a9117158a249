import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { frontChannelUrls } from '../../oauth/tokens/front-channel-logout.ts'
import { type IdTokenHint, readIdTokenHint } from '../../oauth/tokens/id-token.ts'
import { sidFor, subjectFor } from '../../oauth/tokens/user-claims.ts'
import { type Client, clientName, homePage, isStranger, signInUrl } from '../../protocol/clients/client.ts'
import { aboutClient, OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { parseClient } from '../../protocol/requests/authorization-request.ts'
import { postLogoutRedirectUri } from '../../protocol/requests/logout-request.ts'
import { findClient, type LoginRecord } from '../../storage/repositories/index.ts'
import type { PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { reportUnused } from '../http/errors.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { uiLocalesOf } from '../http/language.ts'
import { redirectToPage, sendRedirect } from '../http/redirect.ts'
import { homeUrl, ownPath } from '../http/urls.ts'
import { formToken, submittedForm } from '../sessions/csrf.ts'
import { hostLogin } from '../sessions/host-login.ts'
import { activeLogin, endRest, loginsHere, type SignedOut, signOut } from '../sessions/login.ts'
import { leaveNotice, readNotice } from '../sessions/notice.ts'
import { repeatedForm, repeatForm, takesClientForms } from '../sessions/repeated-form.ts'
import { fieldsIn, type NamedParameters } from './page-values.ts'

/** The valid parts of a logout request; the rest is not used (RP-Initiated Logout §4). */
interface LogoutRequest {
  readonly client: Client | undefined
  readonly hint: IdTokenHint | undefined
  /** Where the browser goes afterwards, with `state`; registered for this client. */
  readonly location: string | undefined
  /** The parameters of that. */
  readonly onward: Readonly<Record<string, string>>
  /** Why something is not used. The user is asked then. */
  readonly mistakes: readonly OAuthError[]
}

const withState = (uri: string, state: string | undefined): string =>
  state === undefined ? uri : `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`

const logoutRequest = async (server: AuthorizationServer, parameters: Parameters): Promise<LogoutRequest> => {
  const mistakes: OAuthError[] = []
  const nothing = { client: undefined, hint: undefined, location: undefined, onward: {}, mistakes }
  const valid = async <T>(read: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      mistakes.push(error)
      return undefined
    }
  }
  await valid(() => parameters.assertEachOnce())
  if (mistakes.length > 0) return nothing
  const hint = await valid(() => readIdTokenHint(server, parameters))
  const clientId = (await valid(() => parameters.optional('client_id'))) ?? hint?.clientId
  if (clientId === undefined) return nothing
  if (hint && clientId !== hint.clientId) {
    mistakes.push(refusal('logout_client_differs'))
    return nothing
  }
  const found = await findClient(server.database, { clientId, now: server.now() })
  // A disabled client is neither named nor linked, as if it were not registered.
  const client = await valid(() => parseClient(found, server.resources, clientId))
  const uri = client && (await valid(() => postLogoutRedirectUri(parameters, client)))
  const state = await valid(() => parameters.optional('state'))
  if (uri === undefined) return { client, hint, location: undefined, onward: {}, mistakes }
  const onward = { post_logout_redirect_uri: uri, ...(state !== undefined && { state }) }
  return { client, hint, location: withState(uri, state), onward, mistakes }
}

/** The fields of a request that the confirmation form repeats, and that are checked again: where to go, without the ID token. */
const carried = ({ client, onward }: LogoutRequest): NamedParameters =>
  client ? { client_id: client.clientId, ...onward } : {}

/** These fields as the form has them. */
const carriedParameters = ['client_id', 'post_logout_redirect_uri', 'state']

/**
 * Whether an ID token of a login that is active in this browser vouches for the client. One of a login that has ended, or
 * of another browser of the same user, is suspect (RP-Initiated Logout §2).
 */
const isVouchedFor = async (
  context: PageContext,
  { client, hint }: LogoutRequest,
  login: LoginRecord,
): Promise<boolean> => {
  const { server } = context
  if (!client || !hint || hint.subject !== subjectFor(server, client, login.subject)) return false
  const isOf = ({ sid }: LoginRecord): boolean => sidFor(server, client, sid) === hint.sid
  return isOf(login) || (await loginsHere(context, login)).some(isOf)
}

const isUnasked = (client: Client | undefined): boolean => client !== undefined && isStranger(client)

/** Names the page after the logout, for a request of its own. */
const doneParameter = 'signed_out'

interface Done {
  readonly stillSignedIn?: boolean
  /** Where a link leads, instead of to the page of the client. */
  readonly back?: string | undefined
  /** The URLs that clients want opened in frames. */
  readonly frames?: readonly string[]
}

const showDone = (
  context: PageContext,
  client: Client | undefined,
  { stillSignedIn = false, back, frames = [] }: Done = {},
): void => {
  const { server, language } = context
  const uri = client && homePage(client, language)
  const named = client && uri !== undefined ? { name: clientName(client, language), uri } : undefined
  const shown = back === undefined ? named : { name: new URL(back).host, uri: back }
  const start = (client && signInUrl(client, server.issuer)) ?? ownPath(server, '/account')
  const model = {
    ...(shown && { client: shown }),
    ...(stillSignedIn ? { stillSignedIn, homeUrl: homeUrl(server) } : { signInUrl: start }),
    ...(frames.length > 0 && { frames }),
  }
  context.send('signed-out', model, { frames })
}

/** This endpoint without an ID token, for after the logout. */
const donePath = (
  { server, req }: PageContext,
  client: Client | undefined,
  onward: Readonly<Record<string, string>>,
): string => {
  const locales = uiLocalesOf(req).join(' ')
  return ownPath(server, '/logout', {
    [doneParameter]: '1',
    ...(client && { client_id: client.clientId }),
    ...(locales !== '' && { ui_locales: locales }),
    ...onward,
  })
}

/** Lets the page after the logout go on to this address: the user has signed out for its client. */
const aboutReturn = (location: string): string => `logout ${location}`

/**
 * Opens the frames of clients, if there are any, and goes on.
 *
 * @param back where a link leads, if the browser is not sent on
 */
const finish = async (
  context: PageContext,
  { client, location, onward }: LogoutRequest,
  { ended, isAtHost }: SignedOut,
  back?: string,
): Promise<void> => {
  const { server } = context
  const frames = await frontChannelUrls(server, ended)
  if (location !== undefined && frames.length === 0) return sendRedirect(context, location)
  if (location === undefined && !isAtHost) return showDone(context, client, { frames, back })
  if (location !== undefined) leaveNotice(context, aboutReturn(location), { kind: 'signed-out' })
  // The host may have read its session before it was emptied. A new request shows the current state.
  const url = donePath(context, client, onward)
  if (frames.length === 0) return redirectToPage(context, url)
  context.send('return', { url, frames }, { frames, redirectUri: location })
}

/**
 * Logs out at once if an ID token of the user who is logged in vouches for the client, and asks otherwise
 * (RP-Initiated Logout §2). It redirects to registered URIs only.
 */
const logout = async (context: PageContext, parameters = queryParameters(context.req)): Promise<void> => {
  const { server, req, language } = context
  const request = await logoutRequest(server, parameters)
  for (const mistake of request.mistakes)
    reportUnused(context, request.client ? aboutClient(mistake, request.client.clientId) : mistake)
  if (parameters.has(doneParameter)) {
    const { client, location } = request
    const mayGoOn =
      location !== undefined && (!isUnasked(client) || readNotice(context, aboutReturn(location)))
    if (mayGoOn) return sendRedirect(context, location)
    if (await hostLogin(context)) return showDone(context, client, { stillSignedIn: true, back: location })
  }
  const active = await activeLogin(context)
  if (active === undefined) {
    const rest = await endRest(context)
    // Anyone can make a link that leads to a client that described itself (RFC 9700 §4.11.2).
    return isUnasked(request.client)
      ? finish(context, { ...request, location: undefined }, rest, request.location)
      : finish(context, request, rest)
  }
  if (request.mistakes.length === 0 && (await isVouchedFor(context, request, active.login)))
    return finish(context, request, await signOut(context))
  const fields = carried(request)
  const uiLocales = uiLocalesOf(req).join(' ')
  const { client } = request
  const model = {
    action: ownPath(server, '/logout', uiLocales === '' ? {} : { ui_locales: uiLocales }),
    hidden: { ...fields, csrf_token: formToken(context, Object.entries(fields).flat()) },
    client: client && clientName(client, language),
    username: active.user.username,
    stayUrl: (client && homePage(client, language)) ?? homeUrl(server),
  }
  context.send('sign-out', model, { redirectUri: request.location })
}

/** Whether a POST is the confirmation of our own page. Any other comes from a client, perhaps of another site. */
const isConfirmation = (form: Parameters): boolean => form.has('csrf_token')

/** The confirmation, or the form of a client. */
const submit = async (context: PageContext): Promise<void> => {
  const { server, req } = context
  const form = formParameters(req)
  const repeated = repeatedForm(context, form)
  if (repeated) return logout(context, repeated)
  const isConfirmed = isConfirmation(form)
  if (isConfirmed) submittedForm(context, Object.entries(fieldsIn(form, carriedParameters)).flat())
  const request = await logoutRequest(server, form)
  if (isConfirmed) await finish(context, request, await signOut(context))
  else repeatForm(context, form, request.location)
}

/** RP-Initiated Logout. */
export const logoutEndpoint: Endpoint<PageContext> = {
  path: '/logout',
  metadataName: 'end_session_endpoint',
  methods: { GET: (context) => logout(context), POST: submit },
  ...takesClientForms,
  usesSession: (incoming) =>
    takesClientForms.usesSession(incoming) || isConfirmation(formParameters(incoming.req)),
}
