import { hashSecret } from '../../keys/secrets.ts'
import { clientCard, isUnverified } from '../../oauth/authorization/consent.ts'
import { toDecide } from '../../oauth/authorization/context.ts'
import {
  answer,
  type DecidedRequest,
  decideRequest,
  examineRequest,
  organizationPath,
  refusePending,
} from '../../oauth/authorization/continue.ts'
import { formTarget } from '../../oauth/authorization/login-location.ts'
import { requestParameter } from '../../oauth/authorization/pending-request.ts'
import type { PendingRequest, UserLogin } from '../../oauth/authorization/request-kind.ts'
import { setMembers } from '../../protocol/json.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Organization } from '../../protocol/requests/organization.ts'
import { freeSlot } from '../../storage/repositories/slots.ts'
import { findOrganizations } from '../../users/users.ts'
import { switchUser } from '../../web/endpoints/consent/consent.ts'
import { type PendingHandler, pendingForm, pendingPage } from '../../web/endpoints/pending-page.ts'
import type { Outcome, PageContext } from '../../web/http/context.ts'
import { ownPath } from '../../web/http/urls.ts'
import { askPath } from './access-rule.ts'
import { requestLifetime } from './administration.ts'
import type { OrganizationAppsOption } from './option.ts'
import { createRequest, findRequestOf, listRequestSlots, removeExpiredRequestOf } from './requests-table.ts'
import { appOf, ruleFor } from './rules.ts'
import { findAppRules } from './rules-table.ts'

/** Hidden fields that say which page the form is an answer to: whose it was, and about which organization. */
const shownLogin = 'login'
const shownOrganization = 'organization'

/** A member who must ask for an app, or may not use it. */
interface Asking {
  readonly login: UserLogin
  readonly organization: Organization
  /** How many organizations the member can choose from. */
  readonly choices: number
  readonly app: string
  readonly state: 'ask' | 'sent' | 'refused' | 'blocked' | 'full'
  readonly words?: string | undefined
}

/** Decides the request again. @returns the member, or how the request goes on if this page is not for it */
const openAsking = async (
  context: PageContext,
  pending: PendingRequest,
  { maxRequests }: OrganizationAppsOption,
): Promise<Asking | DecidedRequest> => {
  const { server, req } = context
  const decided = await decideRequest(context, await examineRequest(context, toDecide(pending), {}))
  const { step, facts } = decided
  if (step.step !== 'denied' || step.page !== askPath || facts.organization?.outcome !== 'settled')
    return decided
  const { login } = step
  const all = (await findOrganizations(server.options.organizations, login.user, req)) ?? []
  const settled = facts.organization.organization
  const organization = all.find(({ id }) => id === settled)
  if (organization === undefined) return decided
  const { client, request } = pending
  const { database, now } = server
  const app = appOf(client)
  const about = { organization: organization.id, app }
  const rule = ruleFor(await findAppRules(database, about), app, isUnverified(server, client))
  const own = await findRequestOf(database, { ...about, subject: login.subject, now: now() })
  const slots = await listRequestSlots(database, { organization: organization.id, subject: login.subject })
  const unasked = slots.length >= maxRequests ? 'full' : 'ask'
  const asked = own?.status === 'waiting' ? 'sent' : own?.status === 'refused' ? 'refused' : unasked
  return {
    login,
    organization,
    choices: request.organization === undefined ? all.length : 1,
    app,
    state: rule?.outcome === 'blocked' ? 'blocked' : asked,
    words: rule?.words,
  }
}

const show =
  (option: OrganizationAppsOption): PendingHandler =>
  async (context, pending) => {
    const asking = await openAsking(context, pending, option)
    if ('step' in asking) return answer(context, asking)
    const { server, language } = context
    const { client, request } = pending
    const { login, organization, choices, state, words } = asking
    const shown = { [shownLogin]: login.sid, [shownOrganization]: organization.id }
    const model = {
      ...pendingForm(context, pending, shown),
      client: clientCard(server, client, request.redirectUri, language),
      username: login.user.username,
      organization: organization.name,
      state,
      ...(words !== undefined && { words }),
      hasOthers: choices > 1,
      ...(request.redirectUri === undefined && { device: true }),
    }
    const redirectUri = formTarget(server, request.redirectUri)
    return context.page('organization-ask', model, { status: state === 'blocked' ? 403 : 200, redirectUri })
  }

/** Characters of a reason. */
const maxReason = 300

/** Stores the request, and tells the host. One request of the member for the app waits at a time. */
const ask = async (
  context: PageContext,
  { client: { clientId }, request }: PendingRequest,
  { login, organization: { id: organization }, app }: Asking,
  { maxRequests }: OrganizationAppsOption,
  reason: string | undefined,
): Promise<void> => {
  const { server, info } = context
  const { subject } = login
  await server.throttle.takeQuota([{ name: 'organizationRequest', subject }])
  const now = server.now()
  // The same for each request of the member for the app, so that parallel ones are one.
  const id = hashSecret(JSON.stringify([organization, app, subject]))
  const { scopes, redirectUri } = request
  const about = { id, organization, app, clientId, subject, scopes, redirectUri, reason }
  const stored = setMembers({ ...about, status: 'waiting', createdAt: now } as const)
  await server.events.change(server.database, async (tx, tell) => {
    const own = { organization, app, subject, now }
    // Another tab has sent it, or an administrator has answered since.
    if ((await findRequestOf(tx, own)) !== undefined) return
    await removeExpiredRequestOf(tx, own)
    const slot = freeSlot(await listRequestSlots(tx, { organization, subject }), maxRequests)
    if (slot === undefined) return
    await createRequest(tx, { ...stored, slot, expiresAt: now + requestLifetime })
    await tell('organization.access_requested', info, { organization, clientId, subject })
  })
}

const reasonIn = (form: Parameters): string | undefined =>
  form.verbatim('reason', maxReason)?.replace(/\s+/g, ' ').trim() || undefined

const submit =
  (option: OrganizationAppsOption): PendingHandler =>
  async (context, pending, form) => {
    const choice = form.required('decision')
    if (choice === 'back') return refusePending(context, pending)
    const asking = await openAsking(context, pending, option)
    if ('step' in asking) return answer(context, asking)
    const to = (path: string): Outcome => ({
      redirectToPage: ownPath(context.server, path, { [requestParameter]: pending.secret }),
    })
    if (choice === 'switch') return switchUser(context, { pending, login: asking.login })
    if (choice === 'organization' && asking.choices > 1) return to(organizationPath)
    if (choice !== 'request')
      throw refusal('decision_unknown', { values: { decisions: 'request, organization, back or switch' } })
    // Another user has signed in since, in another tab, or another organization was chosen there.
    const isSame =
      form.optional(shownLogin) === asking.login.sid &&
      form.optional(shownOrganization) === asking.organization.id
    if (isSame && asking.state === 'ask') await ask(context, pending, asking, option, reasonIn(form))
    return to(askPath)
  }

/** Says why a member cannot use an app, and lets them ask for it. */
export const memberPage = (option: OrganizationAppsOption) =>
  pendingPage(askPath, show(option), submit(option))
