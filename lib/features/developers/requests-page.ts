import {
  leaveOperatorOutcome,
  noticeOf,
  type OperatorContext,
  type OperatorPage,
  operatorForm,
  submittedForm,
  takeOperatorOutcome,
} from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import { queryParameters } from '../../http/form.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { type DeveloperClient, developerAdministration } from './administration.ts'
import type { DeveloperOption } from './option.ts'
import { developerFields } from './rules.ts'
import { ownersPerPage } from './table.ts'

const path = '/admin/requests'
const notices = ['approved', 'refused', 'stale'] as const

/** The clients of users, whose events have the address of this operator. */
const developersFor = ({ server, info }: OperatorContext, option: DeveloperOption) =>
  developerAdministration({
    ...server,
    option,
    logos: server,
    events: { announce: (type, _, details) => server.events.announce(type, info, details) },
  })

/** What a request asks for: all that its owner says, or what they want to change. */
const factsOf = ({ client, changes }: DeveloperClient): [string, string][] =>
  Object.entries(changes ?? developerFields(client, client.client_id))
    .filter(([, value]) => value !== null || changes !== undefined)
    .map(([name, value]) => [name, [value ?? '—'].flat().join('\n')])

const show = async (context: OperatorContext, option: DeveloperOption): Promise<void> => {
  const { server, req } = context
  const after = queryParameters(req).optional('after', 255) ?? ''
  const waiting = await developersFor(context, option).list({ status: 'waiting', after })
  const last = waiting.at(-1)?.client.client_id
  const outcome = takeOperatorOutcome(context, 'requests')
  context.send('operator-requests', {
    sections: context.sections,
    requests: waiting.map((request) => {
      const { client, subject, requestedAt, changes, revision } = request
      const { client_id, client_name = client_id } = client
      const about = { client_id, revision: String(revision) }
      return {
        name: client_name,
        id: client_id,
        owner: subject,
        since: iso(requestedAt),
        url: context.clientUrl(client_id),
        ownerUrl: context.userUrl(subject),
        isChange: changes !== undefined,
        facts: factsOf(request),
        approve: operatorForm(context, path, 'approve', about),
        refuse: operatorForm(context, path, 'refuse', about),
      }
    }),
    previousUrl: after === '' ? undefined : ownPath(server, path),
    nextUrl: waiting.length === ownersPerPage && last ? ownPath(server, path, { after: last }) : undefined,
    notice: noticeOf(outcome, notices),
  })
}

const submit = async (context: OperatorContext, option: DeveloperOption): Promise<void> => {
  const { act, about, form } = submittedForm(context, ['client_id', 'revision'])
  const clientId = about.client_id ?? ''
  const decision = {
    revision: Number(about.revision),
    ...(context.actor !== undefined && { by: context.actor }),
  }
  const developers = developersFor(context, option)
  const reason = form.optional('reason', 1000)?.trim()
  const decide = async (): Promise<(typeof notices)[number]> => {
    if (act === 'approve') await developers.approve(clientId, decision)
    else await developers.refuse(clientId, { ...decision, ...(reason && { reason }) })
    return act === 'approve' ? 'approved' : 'refused'
  }
  const outcome = await decide().catch((error: unknown) => {
    if (error instanceof OAuthError && error.code === 'invalid_client') return 'stale' as const
    throw error
  })
  leaveOperatorOutcome(context, 'requests', { act: outcome })
  redirectToPage(context.res, ownPath(context.server, path))
}

/** Clients of users that wait for approval. */
export const requestsPage = (option: DeveloperOption): OperatorPage => ({
  path,
  section: 'requests',
  GET: (context) => show(context, option),
  POST: (context) => submit(context, option),
})
