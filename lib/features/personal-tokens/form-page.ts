import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { toldApart } from '../../oauth/authorization/organization-list.ts'
import { announceDenied, decideAccess } from '../../oauth/tokens/allowed.ts'
import { askedKinds } from '../../protocol/choices.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { Organization } from '../../protocol/requests/organization.ts'
import { findOrganizations } from '../../users/users.ts'
import {
  type FormThings,
  maxThingsForm,
  pickerActs,
  thingsChosen,
  thingsOnForm,
} from '../../web/endpoints/choices/picker.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { redirectToPage } from '../../web/http/redirect.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { PersonalTokenFormError } from './declarations.ts'
import { issuePersonalToken } from './issue.ts'
import { personalTokenFormPath, personalTokensPath } from './list-page.ts'
import type { PersonalTokenOption } from './option.ts'
import { dateAfter, day, parseTokenDate, parseTokenDays, parseTokenName } from './rules.ts'
import { noClient, personalClientId } from './verify.ts'

/** Characters that are read of each field. */
const maxTyped = 300

/** The form as the user typed it. */
interface Typed {
  readonly name: string
  readonly days: string
  /** The date, if `days` is `other`. */
  readonly until: string
  readonly scopes: readonly string[]
  readonly organization?: string | undefined
}

/** The numbers of days that the form offers. */
const usualDays = [7, 30, 90]
/** The value of `days` for a date. */
const other = 'other'

const maxDaysOf = ({ maxLifetime }: PersonalTokenOption): number => Math.floor(maxLifetime / day)

/** The things that a token of the form can be for. */
const thingsOf = (
  { server, person }: SignedContext<SignedInUser>,
  { scopes }: PersonalTokenOption,
  organization: string | undefined,
): FormThings => ({
  kinds: askedKinds(server.options.choices, scopes),
  about: { user: person.user, client: newToken, organization },
})

/** The form as it was sent, and why no token was made. */
interface Sent {
  readonly form?: Parameters
  readonly error?: PersonalTokenFormError | undefined
  readonly reason?: string | undefined
}

const showForm = async (
  context: SignedContext<SignedInUser>,
  option: PersonalTokenOption,
  organizations: readonly Organization[] | undefined,
  { form, error, reason }: Sent = {},
): Promise<void> => {
  const { server, language } = context
  const { scopes } = option
  const maxDays = maxDaysOf(option)
  const usual = usualDays.filter((days) => days <= maxDays)
  const now = server.now()
  const initial: Typed = {
    name: '',
    days: String(usual.findLast((days) => days <= 30) ?? other),
    until: dateAfter(now, Math.min(30, maxDays)),
    scopes: [],
  }
  const typed = form ? typedIn(form, scopes) : initial
  const asked = thingsOf(context, option, organizationIn(organizations, typed.organization))
  const { things, hidden } = await thingsOnForm(context, asked, { form })
  const page = things ? context.form() : context.form({}, 'create')
  const model = {
    ...page,
    hidden: { ...page.hidden, ...hidden },
    name: typed.name,
    choices: usual.map((days) => ({
      days,
      until: iso(now + days * day),
      isChosen: String(days) === typed.days,
    })),
    other: {
      isChosen: !usual.some((days) => String(days) === typed.days),
      date: typed.until,
      earliest: dateAfter(now, 1),
      latest: dateAfter(now, maxDays),
    },
    organizations:
      organizations && organizations.length > 1
        ? toldApart(organizations).map((one) => ({ ...one, isChosen: one.id === typed.organization }))
        : undefined,
    scopes: scopes.map((name) => ({
      ...scopeWords(server, name, language),
      name,
      isHighRisk: server.options.scopes[name]?.risk === 'high',
      checked: typed.scopes.includes(name),
    })),
    things,
    error,
    reason,
    cancelUrl: ownPath(server, personalTokensPath),
  }
  context.send('personal-token-form', model, error ? { status: 400 } : {})
}

const typedIn = (form: Parameters, offered: readonly string[]): Typed => ({
  name: form.verbatim('name', maxTyped) ?? '',
  days: form.verbatim('days', maxTyped)?.trim() ?? '',
  until: form.verbatim('until', maxTyped)?.trim() ?? '',
  scopes: offered.filter((scope) => form.has(`scope:${scope}`)),
  organization: form.optional('organization'),
})

/** The organization of a form: the named one, or else the first, which a browser selects. Undefined if the host has none. */
const organizationIn = (
  organizations: readonly Organization[] | undefined,
  named: string | undefined,
): string | undefined => (organizations?.find(({ id }) => id === named) ?? organizations?.[0])?.id

/** The user's choice, or the mistake in the form. */
const choiceOf = (
  typed: Typed,
  organizations: readonly Organization[] | undefined,
  { max, now }: { readonly max: number; readonly now: number },
): PersonalTokenFormError | { name: string; days: number; organization?: string } => {
  const name = parseTokenName(typed.name)
  if (name === undefined) return 'name'
  const [only, ...more] = organizations ?? []
  const organization =
    more.length > 0 ? organizations?.find(({ id }) => id === typed.organization)?.id : only?.id
  if (organization === undefined && organizations !== undefined) return 'organization'
  if (typed.scopes.length === 0) return 'scopes'
  const days =
    typed.days === other ? parseTokenDate(typed.until, { now, max }) : parseTokenDays(typed.days, max)
  return days === undefined ? 'days' : { name, days, ...(organization !== undefined && { organization }) }
}

/** The organizations that the user can choose from; undefined if the host has none. */
const organizationsOf = ({ server, req, person }: SignedContext<SignedInUser>) =>
  findOrganizations(server.options.organizations, person.user, req)

/** Stands for the client of a token that does not exist yet. */
const newToken = { clientId: personalClientId({ id: 'new' }), metadata: noClient }

/** The question to the host about a token that does not exist yet. */
const askedFor = (
  { person, req }: SignedContext<SignedInUser>,
  scopes: readonly string[],
  organization: string | undefined,
) => ({
  user: person.user,
  client: newToken,
  scopes,
  organization,
  acr: person.login.acr,
  step: 'personal_token' as const,
  req,
})

/** The form of a new personal access token. The list then shows the token once. */
export const personalTokenFormPage = (option: PersonalTokenOption): Endpoint<PageContext> =>
  accountPage({
    path: personalTokenFormPath,
    recent: 600,
    maxForm: maxThingsForm,
    async show(context) {
      const organizations = await organizationsOf(context)
      if (organizations?.length === 0)
        return redirectToPage(context, ownPath(context.server, personalTokensPath))
      await showForm(context, option, organizations)
    },
    acts: {
      async create(context, form) {
        const { server, person, info } = context
        const organizations = await organizationsOf(context)
        const refuse = async (sent: Sent): Promise<undefined> =>
          void (await showForm(context, option, organizations, sent))
        const typed = typedIn(form, option.scopes)
        const choice = choiceOf(typed, organizations, { max: maxDaysOf(option), now: server.now() })
        if (typeof choice === 'string') return refuse({ form, error: choice })
        const { days, ...chosen } = choice
        const { scopes } = typed
        const things = await thingsChosen(
          context,
          thingsOf(context, option, chosen.organization),
          form,
          scopes,
        )
        if ('error' in things) return refuse(things)
        const asked = askedFor(context, scopes, chosen.organization)
        const access = await decideAccess(server, asked)
        if (access.outcome !== 'allowed') {
          announceDenied(server, info, asked, access)
          const reason = access.outcome === 'denied' ? access.reason : undefined
          return refuse({ form, error: 'access', reason })
        }
        const token = {
          ...chosen,
          ...things,
          user: access.user,
          sid: person.login.sid,
          scopes: access.scopes,
          expiresAt: server.now() + days * day,
        }
        const created = await issuePersonalToken(server, option, token, info)
        // The list tells a user who has too many.
        const notice = created && { kind: 'created', about: created.id, secret: created.value }
        return { path: personalTokensPath, notice }
      },
      ...pickerActs<SignedInUser>({
        async asks(context, form) {
          const organizations = await organizationsOf(context)
          return thingsOf(context, option, organizationIn(organizations, form.optional('organization')))
        },
        show: async (context, form, error) =>
          showForm(context, option, await organizationsOf(context), { form, error }),
      }),
    },
  })
