import {
  type ConsentView,
  clientCard,
  consentSubject,
  openConsent,
} from '../../../oauth/authorization/consent.ts'
import { organizationPath, signInAgain } from '../../../oauth/authorization/continue.ts'
import { formTarget } from '../../../oauth/authorization/login-location.ts'
import { listOrganizations } from '../../../oauth/authorization/organization-list.ts'
import { requestParameter } from '../../../oauth/authorization/pending-request.ts'
import type { Decision } from '../../../protocol/requests/next-step.ts'
import { isAmong } from '../../../protocol/requests/organization.ts'
import type { Outcome } from '../../http/context.ts'
import { clearNotice, leaveNotice } from '../../sessions/notice.ts'
import { hasThings } from '../choices/consent-things.ts'
import { pageLinks, pageNumberOf } from '../page-values.ts'
import { type PendingHandler, type PendingOutcome, pendingForm, pendingPage } from '../pending-page.ts'
import { askAgain, deny, noticeFor, switchUser } from './consent.ts'

/** Whether there is something to choose: otherwise the request goes on without this page. */
const mayChoose = ({ offered = [] }: ConsentView): boolean => offered.length > 1

/** Shows the organizations of the user, by page and search. */
const show: PendingHandler = async (context, pending, parameters) => {
  const { server, language } = context
  const consentView = await openConsent(context, pending)
  if (consentView === undefined) return signInAgain(context, pending)
  const { offered = [], consents, user, login } = consentView
  const { left } = pending.decision?.sid === login.sid ? pending.decision : {}
  if (!mayChoose(consentView)) return { changes: { active: consentView } }
  const query = parameters.optional('q') ?? ''
  const used = consents.map(({ organization }) => organization)
  const list = listOrganizations(offered, used, { query, page: pageNumberOf(parameters) })
  const { account } = consentSubject(consentView)
  const named = { [requestParameter]: pending.secret, ...(query !== '' && { q: query }) }
  const model = {
    ...pendingForm(context, pending, { account }),
    client: clientCard(server, pending.client, pending.request.redirectUri, language),
    username: user.username,
    organizations: list.organizations,
    current: left,
    range: list.range,
    ...(list.hasSearch && { query }),
    ...pageLinks(server, organizationPath, list, named),
    notice: noticeFor(context, pending),
  }
  return context.page('organization', model, {
    redirectUri: formTarget(server, pending.request.redirectUri),
    reads: list.hasSearch,
  })
}

/** Continues the request for the organization that was pressed. It allows nothing by itself. */
const submit: PendingHandler = async (context, pending, form) => {
  const consentView = await openConsent(context, pending)
  if (consentView === undefined) return signInAgain(context, pending)
  const { login, offered = [] } = consentView
  const choice = form.optional('decision')
  if (choice === 'switch') return switchUser(context, consentView)
  const again = (kind: 'account' | 'gone'): Outcome =>
    askAgain(context, pending, { kind, path: organizationPath })
  if (form.optional('account') !== consentSubject(consentView).account) return again('account')
  const proceed = (decision?: Decision): PendingOutcome => ({
    changes: { active: consentView, ...(decision && { decision }) },
  })
  if (choice === 'deny') return proceed(deny(context, consentView))
  if (!mayChoose(consentView)) return proceed()
  const organization = form.required('organization')
  if (!isAmong(offered, organization)) return again('gone')
  clearNotice(context)
  const { ticked, left, draft } = pending.decision?.sid === login.sid ? pending.decision : {}
  const stays = left === organization
  if (!stays && draft && hasThings(draft)) leaveNotice(context, pending.id, { kind: 'moved' })
  return proceed({
    allowed: true,
    sid: login.sid,
    scopes: [],
    organizationOnly: true,
    organization,
    ...(ticked && { ticked }),
    ...(stays && draft && { draft }),
  })
}

export const organizationEndpoint = pendingPage(organizationPath, show, submit)
