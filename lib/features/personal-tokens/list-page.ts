import { scopeWords } from '../../authorization/consent-scopes.ts'
import { showAccountLogin, submitAccountLogin } from '../../endpoints/account-login.ts'
import { otherAccountPages } from '../../endpoints/account-pages.ts'
import { iso } from '../../endpoints/page-values.ts'
import type { PageContext } from '../../http/context.ts'
import { formParameters, queryParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { bindBrowser, boundBrowser } from '../../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../../sessions/csrf.ts'
import { type ActiveLogin, activeLogin } from '../../sessions/login.ts'
import { leaveOutcome, takeOutcome } from '../../sessions/notice.ts'
import { findOrganizations } from '../../users/users.ts'
import { revokePersonalToken } from './issue.ts'
import type { PersonalTokenCard } from './models.ts'
import type { PersonalTokenOption } from './option.ts'
import { listPersonalTokens, type PersonalToken } from './table.ts'

/** The list of a user's personal access tokens. */
export const personalTokensPath = '/account/tokens'
/** The form of a new one. */
export const personalTokenFormPath = '/account/tokens/new'
/** Names a token in the URL of the page that asks whether to revoke it. */
const idParameter = 'id'

/** What the outcomes on the list are about: it is for one user. */
export const aboutTokensOf = ({ login }: ActiveLogin): string =>
  JSON.stringify(['personal tokens', login.subject])

const cardOf = (
  { server, language }: PageContext,
  token: PersonalToken,
  organizations: ReadonlyMap<string, string>,
): PersonalTokenCard => {
  const { id, name, organization, createdAt, lastUsedAt, expiresAt } = token
  return {
    name,
    scopes: token.scopes.map((scope) => scopeWords(server, scope, language)),
    ...(organization !== undefined && { organization: organizations.get(organization) ?? organization }),
    since: iso(createdAt),
    ...(lastUsedAt !== null && { lastUsed: iso(lastUsedAt) }),
    expires: iso(expiresAt),
    isExpired: expiresAt <= server.now(),
    removeUrl: ownPath(server, personalTokensPath, { [idParameter]: id }),
  }
}

const showTokens = async (
  context: PageContext,
  { maxPerUser }: PersonalTokenOption,
  active: ActiveLogin,
  tokens: readonly PersonalToken[],
): Promise<void> => {
  const { server, req } = context
  const organizations = await findOrganizations(server.options.organizations, active.user, req)
  const names = new Map(organizations?.map(({ id, name }) => [id, name]))
  const outcome = takeOutcome(context, aboutTokensOf(active))
  const value = outcome?.secret
  const created = tokens.find(({ id }) => id === outcome?.about)
  const isFull = tokens.filter(({ expiresAt }) => expiresAt > server.now()).length >= maxPerUser
  context.send('personal-tokens', {
    username: active.user.username,
    tokens: tokens.map((token) => cardOf(context, token, names)),
    ...(created && value !== undefined && { created: { name: created.name, value } }),
    ...(outcome?.act === 'revoked' && { notice: 'revoked' as const }),
    ...(isFull
      ? { max: maxPerUser }
      : organizations?.length !== 0 && { newUrl: ownPath(server, personalTokenFormPath) }),
    otherPages: otherAccountPages(server, 'personal-tokens'),
  })
}

const purposeOf = (id: string, { login }: ActiveLogin, browser: FormPurpose['browser']): FormPurpose => ({
  action: 'account',
  about: JSON.stringify(['revoke token', login.subject, id]),
  browser,
})

const showRevocation = (context: PageContext, active: ActiveLogin, { id, name }: PersonalToken): void => {
  const { server } = context
  const browser = bindBrowser(context)
  context.send('revoke-token', {
    action: ownPath(server, personalTokensPath),
    hidden: { [idParameter]: id, csrf_token: csrfToken(server, purposeOf(id, active, browser)) },
    name,
    cancelUrl: ownPath(server, personalTokensPath),
  })
}

/** The user's tokens; with `id` the page that asks whether to revoke that one. */
const show = async (context: PageContext, option: PersonalTokenOption): Promise<void> => {
  const { server, req } = context
  const active = await activeLogin(context)
  if (active === undefined) return showAccountLogin(context, personalTokensPath)
  const tokens = await listPersonalTokens(server.database, { subject: active.login.subject })
  const named = queryParameters(req).optional(idParameter)
  const token = tokens.find(({ id }) => id === named)
  if (token) showRevocation(context, active, token)
  else await showTokens(context, option, active, tokens)
}

/** The revocation of one token; without `id` the sign-in form. */
const submit = async (context: PageContext): Promise<void> => {
  const { server, req, res, info } = context
  const form = formParameters(req)
  const id = form.optional(idParameter)
  if (id === undefined) return submitAccountLogin(context, personalTokensPath)
  const active = await activeLogin(context)
  if (active) {
    const browser = boundBrowser(context)
    assertCsrf(context, form, browser && purposeOf(id, active, browser))
    await revokePersonalToken(server, { id, subject: active.login.subject }, info)
    leaveOutcome(context, aboutTokensOf(active), { act: 'revoked' })
  }
  redirectToPage(res, ownPath(server, personalTokensPath))
}

/** The list of the user's personal access tokens. */
export const personalTokensPage = (option: PersonalTokenOption): Endpoint<PageContext> => ({
  path: personalTokensPath,
  methods: { GET: (context) => show(context, option), POST: submit },
})
