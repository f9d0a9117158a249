import type { OperatorContext, OperatorPage } from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import { noticeOf } from '../../sessions/notice.ts'
import type { Bell } from './bell.ts'
import './models.ts'
import type { ShownDeadLetter, ShownEndpoint } from './models.ts'
import type { WebhookEndpoints } from './option.ts'
import { conditionOf, type EndpointStatus, endpointStatuses } from './status.ts'
import {
  countDeadLetters,
  type DeadLetter,
  enableEndpoint,
  listDeadLetters,
  replayDelivery,
  replayEndpoint,
} from './table.ts'

const shownEndpoint = (
  context: OperatorContext,
  status: EndpointStatus,
  letters: readonly DeadLetter[],
): ShownEndpoint => {
  const {
    name: endpoint,
    origin,
    backlog,
    oldest,
    succeededAt,
    failedAt,
    failure,
    refusedAt,
    refusal,
  } = status
  const state = conditionOf(status)
  return {
    name: endpoint,
    ...(origin !== undefined && { origin }),
    backlog,
    state,
    ...(oldest !== null && { oldest: iso(oldest) }),
    ...(succeededAt !== null && { succeeded: iso(succeededAt) }),
    ...(failedAt !== null && { failed: iso(failedAt) }),
    ...(refusedAt !== null && { refused: iso(refusedAt) }),
    ...(state === 'down' && failure !== null && { failure }),
    ...(state === 'refuses' && refusal !== null && { failure: refusal }),
    ...(state === 'disabled' && { enable: context.form({ endpoint }, 'enable') }),
    ...(letters.some((letter) => letter.endpoint === endpoint) && {
      replay: context.form({ endpoint }, 'replay-all'),
    }),
  }
}

const shownLetter = (context: OperatorContext, letter: DeadLetter): ShownDeadLetter => {
  const { id, endpoint, type, subject, time, attempts, failure } = letter
  return {
    id,
    endpoint,
    attempts,
    failure,
    ...(type !== null && { type }),
    ...(subject !== null && { user: { name: subject, url: context.person.userUrl(subject) } }),
    ...(time !== null && { time: iso(time) }),
    replay: context.form({ delivery: String(id) }, 'replay'),
  }
}

const actorOf = ({ person: { actor } }: OperatorContext) => (actor === undefined ? {} : { actor })

/** The receivers of webhooks, and what did not arrive. */
export const webhooksPage = (endpoints: WebhookEndpoints, bell: Pick<Bell, 'ring'>): OperatorPage => ({
  path: '/admin/webhooks',
  section: 'webhooks',
  fields: ['endpoint', 'delivery'],
  waiting: ({ server }) => countDeadLetters(server.database),
  async show(context) {
    const { server, person, notice } = context
    const letters = await listDeadLetters(server.database, {})
    const statuses = await endpointStatuses(server.database, endpoints)
    context.send('operator-webhooks', {
      ...person.header,
      endpoints: statuses.map((status) => shownEndpoint(context, status, letters)),
      deadLetters: letters.map((letter) => shownLetter(context, letter)),
      notice: noticeOf(notice, ['replayed', 'enabled', 'stale']),
    })
  },
  acts: {
    async replay(context, form) {
      const { server, info } = context
      const id = form.optional('delivery', 15) ?? ''
      const seq = /^\d+$/.test(id) ? Number(id) : 0
      if (!(await replayDelivery(server.database, { seq, now: server.now() })))
        return { notice: { kind: 'stale' } }
      server.events.announce('webhook.replayed', info, { deliveries: id, ...actorOf(context) })
      bell.ring()
      return { notice: { kind: 'replayed' } }
    },
    async 'replay-all'(context, form) {
      const { server, info } = context
      const endpoint = form.optional('endpoint', 64) ?? ''
      const count = await replayEndpoint(server.database, { endpoint, now: server.now() })
      if (count === 0) return { notice: { kind: 'stale' } }
      server.events.announce('webhook.replayed', info, {
        endpoint,
        deliveries: String(count),
        ...actorOf(context),
      })
      bell.ring()
      return { notice: { kind: 'replayed' } }
    },
    async enable(context, form) {
      const { server, info } = context
      const endpoint = form.optional('endpoint', 64) ?? ''
      if (!(await enableEndpoint(server.database, { name: endpoint }))) return { notice: { kind: 'stale' } }
      server.events.announce('webhook.enabled', info, { endpoint, ...actorOf(context) })
      bell.ring()
      return { notice: { kind: 'enabled' } }
    },
  },
})
