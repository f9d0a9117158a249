import { clientCard } from '../../oauth/authorization/consent.ts'
import { consentPicture } from '../../oauth/authorization/consent-picture.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { findClientRecords } from '../../storage/repositories/clients.ts'
import type { OrganizationPage } from '../../web/endpoints/organization-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { answerAppRequest, appName } from './administration.ts'
import type { RequestAnswer } from './declarations.ts'
import {
  type AdministratorContext,
  appRequestPath,
  appRequestsPath,
  deciderOf,
  fieldsAbout,
  hostOf,
  leadTo,
  namesOf,
  permissionsOf,
  urlOf,
} from './pages.ts'
import {
  type AppRequest,
  countRequestsByApp,
  countWaitingRequests,
  findRequest,
  listWaitingRequests,
  requestsPerPage,
} from './requests-table.ts'
import { shownMark } from './rules.ts'

const notices = ['everybody', 'person', 'refused', 'stale'] as const

/** Requests with everything that their rows say. Those whose client is gone are missing. */
const rowsOf = async (context: AdministratorContext, requests: readonly AppRequest[]) => {
  const { server, person, language } = context
  const { database, now } = server
  const clientIds = [...new Set(requests.map(({ clientId }) => clientId))]
  const records = clientIds.length > 0 ? await findClientRecords(database, { clientIds, now: now() }) : []
  const clients = new Map(records.map((client) => [client.clientId, client]))
  const names = await namesOf(
    server,
    requests.map(({ subject }) => subject),
  )
  const counts = await countRequestsByApp(database, { organization: person.organization.id, now: now() })
  return requests.flatMap(({ id, app, clientId, subject, createdAt, reason }) => {
    const client = clients.get(clientId)
    if (client === undefined) return []
    const about = { app, clients: [client] }
    const row = {
      name: appName(about, language),
      host: hostOf(about),
      member: names.get(subject) ?? subject,
      since: iso(createdAt),
      ...(reason !== undefined && { reason }),
      others: Math.max(0, (counts.get(app) ?? 1) - 1),
      url: urlOf(context, appRequestPath, { id }),
    }
    return [{ client, row }]
  })
}

const placeIn = (query: Parameters): { readonly time: number; readonly id: string } => {
  const [, time = '0', id = ''] = /^(\d{1,12}):([\w-]{1,43})$/.exec(query.optional('after', 60) ?? '') ?? []
  return { time: Number(time), id }
}

/** The requests of members, oldest first. */
export const appRequestsPage: OrganizationPage = {
  path: appRequestsPath,
  section: 'requests',
  waiting: ({ server }, organization) =>
    countWaitingRequests(server.database, { organization, now: server.now() }),
  async show(context, query) {
    const { server, person, notice } = context
    const about = { organization: person.organization.id, ...placeIn(query), now: server.now() }
    const found = await listWaitingRequests(server.database, about)
    const requests = found.slice(0, requestsPerPage)
    const last = requests.at(-1)
    const rows = await rowsOf(context, requests)
    context.send('organization-requests', {
      ...(await person.header()),
      requests: rows.map(({ row }) => row),
      ...(query.has('after') && { previousUrl: urlOf(context, appRequestsPath) }),
      ...(last &&
        found.length > requestsPerPage && {
          nextUrl: urlOf(context, appRequestsPath, { after: `${last.createdAt}:${last.id}` }),
        }),
      notice: noticeOf(notice, notices),
    })
  },
}

const show = async (context: AdministratorContext, query: Parameters): Promise<void> => {
  const { server, person, language } = context
  const id = query.optional('id') ?? ''
  const request = await findRequest(server.database, { organization: person.organization.id, id })
  const [found] = request?.status === 'waiting' ? await rowsOf(context, [request]) : []
  if (request === undefined || found === undefined)
    throw refusal('parameter_invalid', {
      values: { parameter: 'id', problem: 'is not that of a request that waits' },
      status: 404,
    })
  const { client, row } = found
  const fields = fieldsAbout(context, { id, mark: shownMark(client) })
  context.send('organization-request', {
    ...(await person.header()),
    ...row,
    client: clientCard(server, client, request.redirectUri, language),
    permissions: permissionsOf(context, request.scopes),
    picture: consentPicture(server, client, {
      ...request,
      redirectUri: request.redirectUri,
      username: row.member,
      language,
    }),
    answer: context.form(fields),
    listUrl: urlOf(context, appRequestsPath),
  })
}

/** Answers the request as it was shown; the app may have changed since. */
const act = (kind: RequestAnswer) => async (context: AdministratorContext, form: Parameters) => {
  const request = { organization: context.person.organization.id, id: form.required('id') }
  const decider = { ...deciderOf(context), mark: form.required('mark') }
  const isAnswered = await answerAppRequest(context.server, request, kind, decider)
  return leadTo(context, appRequestsPath, isAnswered ? kind : 'stale')
}

/** One request, with what the app would be able to do. */
export const appRequestPage: OrganizationPage = {
  path: appRequestPath,
  section: 'requests',
  fields: ['id', 'mark'],
  show,
  acts: { everybody: act('everybody'), person: act('person'), refused: act('refused') },
}
