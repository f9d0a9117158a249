import type { OperatorContext, OperatorPage } from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import type { ActResult } from '../../endpoints/signed-page.ts'
import { ownPath } from '../../http/urls.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { noticeOf } from '../../sessions/notice.ts'
import {
  type DeveloperAdministration,
  type DeveloperClient,
  type DeveloperDecision,
  developerAdministration,
} from './administration.ts'
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

/** Decides about the request as it was shown; its owner may have changed it since. */
const decide =
  (
    option: DeveloperOption,
    kind: 'approved' | 'refused',
    run: (
      developers: DeveloperAdministration,
      clientId: string,
      decision: DeveloperDecision,
      form: Parameters,
    ) => Promise<void>,
  ) =>
  async (context: OperatorContext, form: Parameters): Promise<ActResult> => {
    const decision = { revision: Number(form.required('revision')), by: context.person.actor }
    try {
      await run(developersFor(context, option), form.required('client_id'), decision, form)
      return { notice: { kind } }
    } catch (error) {
      if (error instanceof OAuthError && error.code === 'invalid_client') return { notice: { kind: 'stale' } }
      throw error
    }
  }

/** Clients of users that wait for approval. */
export const requestsPage = (option: DeveloperOption): OperatorPage => ({
  path,
  section: 'requests',
  fields: ['client_id', 'revision'],
  async show(context, query) {
    const { server, person, notice } = context
    const after = query.optional('after', 255) ?? ''
    const waiting = await developersFor(context, option).list({ status: 'waiting', after })
    const last = waiting.at(-1)?.client.client_id
    context.send('operator-requests', {
      sections: person.sections,
      requests: waiting.map((request) => {
        const { client, subject, requestedAt, changes, revision } = request
        const { client_id, client_name = client_id } = client
        const about = { client_id, revision: String(revision) }
        return {
          name: client_name,
          id: client_id,
          owner: subject,
          since: iso(requestedAt),
          url: person.clientUrl(client_id),
          ownerUrl: person.userUrl(subject),
          isChange: changes !== undefined,
          facts: factsOf(request),
          approve: context.form(about, 'approve'),
          refuse: context.form(about, 'refuse'),
        }
      }),
      previousUrl: after === '' ? undefined : ownPath(server, path),
      nextUrl: waiting.length === ownersPerPage && last ? ownPath(server, path, { after: last }) : undefined,
      notice: noticeOf(notice, notices),
    })
  },
  acts: {
    approve: decide(option, 'approved', (developers, clientId, decision) =>
      developers.approve(clientId, decision),
    ),
    refuse: decide(option, 'refused', (developers, clientId, decision, form) => {
      const reason = form.optional('reason', 1000)?.trim() || undefined
      return developers.refuse(clientId, { ...decision, reason })
    }),
  },
})
