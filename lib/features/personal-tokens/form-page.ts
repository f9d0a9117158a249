import { scopeWords } from '../../authorization/consent-scopes.ts'
import { showAccountLogin, submitAccountLogin } from '../../endpoints/account-login.ts'
import type { PageContext } from '../../http/context.ts'
import { formParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import type { Organization } from '../../protocol/organization.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { bindBrowser, boundBrowser } from '../../sessions/browser-binding.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../../sessions/csrf.ts'
import { type ActiveLogin, activeLogin, recentLogin } from '../../sessions/login.ts'
import { leaveOutcome } from '../../sessions/notice.ts'
import { findOrganizations } from '../../users/users.ts'
import { issuePersonalToken } from './issue.ts'
import { aboutTokensOf, personalTokenFormPath, personalTokensPath } from './list-page.ts'
import type { PersonalTokenFormError } from './models.ts'
import type { PersonalTokenOption } from './option.ts'
import { parseTokenDays, parseTokenName } from './rules.ts'

const day = 86_400
/** Characters that are read of each field. */
const maxTyped = 300

/** What the user typed. */
interface Typed {
  readonly name: string
  readonly days: string
  readonly scopes: readonly string[]
  readonly organization: string | undefined
}

const maxDaysOf = ({ maxLifetime }: PersonalTokenOption): number => Math.floor(maxLifetime / day)

/** A form is for one user. */
const purposeOf = ({ login }: ActiveLogin, browser: FormPurpose['browser']): FormPurpose => ({
  action: 'account',
  about: JSON.stringify(['new token', login.subject]),
  browser,
})

const showForm = (
  context: PageContext,
  option: PersonalTokenOption,
  active: ActiveLogin,
  organizations: readonly Organization[] | undefined,
  refused?: { readonly typed: Typed; readonly error: PersonalTokenFormError },
): void => {
  const { server, language } = context
  const { scopes } = option
  const maxDays = maxDaysOf(option)
  const initial: Typed = {
    name: '',
    days: String(Math.min(30, maxDays)),
    scopes: [],
    organization: undefined,
  }
  const typed = refused?.typed ?? initial
  const model = {
    action: ownPath(server, personalTokenFormPath),
    hidden: { decision: 'create', csrf_token: csrfToken(server, purposeOf(active, bindBrowser(context))) },
    name: typed.name,
    days: typed.days,
    maxDays,
    ...(organizations !== undefined &&
      organizations.length > 1 && {
        organizations: organizations.map(({ id, name }) => ({
          id,
          name,
          isChosen: id === refused?.typed.organization,
        })),
      }),
    scopes: scopes.map((name) => ({
      ...scopeWords(server, name, language),
      name,
      isHighRisk: server.options.scopes[name]?.risk === 'high',
      checked: typed.scopes.includes(name),
    })),
    ...(refused && { error: refused.error }),
    cancelUrl: ownPath(server, personalTokensPath),
  }
  context.send('personal-token-form', model, refused ? { status: 400 } : {})
}

/**
 * The user of the page, if they have just signed in, with their organizations.
 *
 * @returns undefined when the request has been answered
 */
const admit = async (
  context: PageContext,
): Promise<{ active: ActiveLogin; organizations: readonly Organization[] | undefined } | undefined> => {
  const { server, req, res } = context
  const active = await activeLogin(context)
  if (active === undefined || (await recentLogin(context, active)) === undefined) {
    if (req.method === 'POST') redirectToPage(res, ownPath(server, personalTokenFormPath))
    else await showAccountLogin(context, personalTokenFormPath, active)
    return undefined
  }
  const organizations = await findOrganizations(server.options.organizations, active.user, req)
  if (organizations?.length !== 0) return { active, organizations }
  redirectToPage(res, ownPath(server, personalTokensPath))
  return undefined
}

const typedIn = (form: Parameters, offered: readonly string[]): Typed => ({
  name: form.verbatim('name', maxTyped) ?? '',
  days: form.verbatim('days', maxTyped)?.trim() ?? '',
  scopes: offered.filter((scope) => form.has(`scope:${scope}`)),
  organization: form.optional('organization'),
})

/** What is wrong with what the user typed, or what they chose. */
const choiceOf = (
  typed: Typed,
  organizations: readonly Organization[] | undefined,
  maxDays: number,
): PersonalTokenFormError | { name: string; days: number; organization?: string } => {
  const name = parseTokenName(typed.name)
  if (name === undefined) return 'name'
  const [only, ...more] = organizations ?? []
  const organization =
    more.length > 0 ? organizations?.find(({ id }) => id === typed.organization)?.id : only?.id
  if (organization === undefined && organizations !== undefined) return 'organization'
  if (typed.scopes.length === 0) return 'scopes'
  const days = parseTokenDays(typed.days, maxDays)
  return days === undefined ? 'days' : { name, days, ...(organization !== undefined && { organization }) }
}

const show = async (context: PageContext, option: PersonalTokenOption): Promise<void> => {
  const admitted = await admit(context)
  if (admitted) showForm(context, option, admitted.active, admitted.organizations)
}

/** Creates a token, which the list then shows once. Without `decision` it is the sign-in form. */
const submit = async (context: PageContext, option: PersonalTokenOption): Promise<void> => {
  const { server, req, res, info } = context
  const form = formParameters(req)
  if (!form.has('decision')) return submitAccountLogin(context, personalTokenFormPath)
  const admitted = await admit(context)
  if (admitted === undefined) return
  const { active, organizations } = admitted
  const browser = boundBrowser(context)
  assertCsrf(context, form, browser && purposeOf(active, browser))
  const maxDays = maxDaysOf(option)
  const typed = typedIn(form, option.scopes)
  const choice = choiceOf(typed, organizations, maxDays)
  if (typeof choice === 'string')
    return showForm(context, option, active, organizations, { typed, error: choice })
  const { days, ...chosen } = choice
  const expiresAt = server.now() + days * day
  const { subject } = active.login
  const created = await issuePersonalToken(
    server,
    option,
    { ...chosen, subject, scopes: typed.scopes, expiresAt },
    info,
  )
  if (created) {
    const { id: about, value: secret } = created
    leaveOutcome(context, aboutTokensOf(active), { act: 'created', about, secret })
  }
  // The list tells a user with too many.
  redirectToPage(res, ownPath(server, personalTokensPath))
}

/** The form of a new personal access token. */
export const personalTokenFormPage = (option: PersonalTokenOption): Endpoint<PageContext> => ({
  path: personalTokenFormPath,
  methods: { GET: (context) => show(context, option), POST: (context) => submit(context, option) },
})
