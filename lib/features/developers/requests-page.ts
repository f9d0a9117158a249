import type { OperatorPage } from '../../web/endpoints/operator-page.ts'
import { clientParameter, iso } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import type { DeveloperOption } from './option.ts'
import { developersFor, ownersOf, requestPath, requestsPath } from './request-page.ts'
import { countWaiting, ownersPerPage } from './table.ts'

const notices = ['approved', 'refused', 'stale'] as const

/** Clients of users that wait for approval. */
export const requestsPage = (option: DeveloperOption): OperatorPage => ({
  path: requestsPath,
  section: 'requests',
  waiting: ({ server }) => countWaiting(server.database),
  async show(context, query) {
    const { server, person, notice } = context
    const after = query.optional('after', 255) ?? ''
    const waiting = await developersFor(context, option).list({ status: 'waiting', after })
    const owners = await ownersOf(
      server,
      waiting.map(({ subject }) => subject),
    )
    const last = waiting.at(-1)?.client.client_id
    context.send('operator-requests', {
      ...(await person.header()),
      requests: waiting.map(({ client, subject, requestedAt, changes }) => ({
        name: client.client_name ?? client.client_id,
        id: client.client_id,
        owner: owners.get(subject) ?? subject,
        since: iso(requestedAt),
        url: ownPath(server, requestPath, clientParameter(client.client_id)),
        isChange: changes !== undefined,
      })),
      previousUrl: after === '' ? undefined : ownPath(server, requestsPath),
      nextUrl:
        waiting.length === ownersPerPage && last ? ownPath(server, requestsPath, { after: last }) : undefined,
      notice: noticeOf(notice, notices),
    })
  },
})
