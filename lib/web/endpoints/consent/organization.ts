import {
  type ConsentRequest,
  clientCard,
  consentSubject,
  openConsent,
} from '../../../oauth/authorization/consent.ts'
import {
  continueRequest,
  organizationPath,
  signInAgain,
  toDecide,
} from '../../../oauth/authorization/continue.ts'
import { formTarget } from '../../../oauth/authorization/login-location.ts'
import { listOrganizations } from '../../../oauth/authorization/organization-list.ts'
import { type PendingRequest, requestParameter } from '../../../oauth/authorization/pending-request.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import type { Decision } from '../../../protocol/requests/next-step.ts'
import { isAmong } from '../../../protocol/requests/organization.ts'
import type { PageContext } from '../../http/context.ts'
import { clearNotice } from '../../sessions/notice.ts'
import { pageLinks, pageNumberOf } from '../page-values.ts'
import { pendingForm, pendingPage } from '../pending-page.ts'
import { askAgain, deny, noticeFor, switchUser } from './consent.ts'

/** Whether there is something to choose: otherwise the request goes on without this page. */
const mayChoose = ({ offered = [] }: ConsentRequest): boolean => offered.length > 1

/** Shows the organizations of the user, by page and search. */
const show = async (context: PageContext, pending: PendingRequest, asked: Parameters): Promise<void> => {
  const { server, language } = context
  const request = await openConsent(context, pending)
  if (request === undefined) return signInAgain(context, pending)
  const { offered = [], consents, user } = request
  if (!mayChoose(request)) return continueRequest(context, toDecide(pending), { active: request })
  const query = asked.optional('q') ?? ''
  const used = consents.map(({ organization }) => organization)
  const list = listOrganizations(offered, used, { query, page: pageNumberOf(asked) })
  const { account } = consentSubject(request)
  const named = { [requestParameter]: pending.secret, ...(query !== '' && { q: query }) }
  const model = {
    ...pendingForm(context, pending, { account }),
    client: clientCard(server, pending.client, pending.request.redirectUri, language),
    username: user.username,
    organizations: list.organizations,
    range: list.range,
    ...(list.hasSearch && { query }),
    ...pageLinks(server, organizationPath, list, named),
    notice: noticeFor(context, pending),
  }
  context.send('organization', model, { redirectUri: formTarget(server, pending.request.redirectUri) })
}

/** Continues the request for the organization that was pressed. It allows nothing by itself. */
const submit = async (context: PageContext, pending: PendingRequest, form: Parameters): Promise<void> => {
  const asked = await openConsent(context, pending)
  if (asked === undefined) return signInAgain(context, pending)
  const { login, offered = [] } = asked
  const choice = form.optional('decision')
  if (choice === 'switch') return switchUser(context, asked)
  const again = (kind: 'account' | 'gone'): void =>
    askAgain(context, pending, { kind, path: organizationPath })
  if (form.optional('account') !== consentSubject(asked).account) return again('account')
  const proceed = (decision?: Decision): Promise<void> =>
    continueRequest(context, toDecide(pending), { active: asked, ...(decision && { decision }) })
  if (choice === 'deny') return proceed(deny(context, asked))
  if (!mayChoose(asked)) return proceed()
  const organization = form.required('organization')
  if (!isAmong(offered, organization)) return again('gone')
  clearNotice(context)
  const { ticked } = pending.decision?.sid === login.sid ? pending.decision : {}
  await proceed({
    allowed: true,
    sid: login.sid,
    scopes: [],
    organizationOnly: true,
    organization,
    ...(ticked && { ticked }),
  })
}

export const organizationEndpoint = pendingPage(organizationPath, show, submit)
