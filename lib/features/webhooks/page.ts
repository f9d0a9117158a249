import { randomId } from '../../keys/secrets.ts'
import type { OperatorContext, OperatorPage, OperatorTrouble } from '../../web/endpoints/operator-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import type { Bell } from './bell.ts'
import type { ShownDeadLetter, ShownEndpoint } from './declarations.ts'
import { hastenDeliveries } from './lanes.ts'
import type { WebhookEndpoints } from './option.ts'
import { post, receiverOf } from './receiver.ts'
import { priorities } from './rules.ts'
import { conditionOf, type EndpointStatus, endpointStatuses } from './status.ts'
import {
  countDeadLetters,
  type DeadLetter,
  enableEndpoint,
  endPause,
  findBacklog,
  type LetterPlace,
  lettersPerPage,
  listDeadLetters,
  replayDelivery,
  replayEndpoint,
} from './table.ts'

const shownEndpoint = (context: OperatorContext, status: EndpointStatus): ShownEndpoint => {
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
    nextAt,
  } = status
  const state = conditionOf(status)
  const isTriedLater = nextAt !== undefined && (state === 'down' || state === 'refuses')
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
    ...(isTriedLater && { next: iso(nextAt), tryNow: context.form({ endpoint }, 'try') }),
    ...(state !== 'removed' && { test: context.form({ endpoint }, 'test') }),
    ...(state === 'disabled' && { enable: context.form({ endpoint }, 'enable') }),
    ...(status.hasDeadLetter && { replay: context.form({ endpoint }, 'replay-all') }),
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

const path = '/admin/webhooks'

/** A place in the list of dead letters, as URLs have it; undefined for anything else. */
const placeOf = (given: string | undefined): LetterPlace | undefined => {
  const [, deadAt, id] = /^(\d{1,15})-(\d{1,15})$/.exec(given ?? '') ?? []
  return deadAt === undefined ? undefined : { deadAt: Number(deadAt), id: Number(id) }
}

const actorOf = ({ person: { actor } }: OperatorContext) => (actor === undefined ? {} : { actor })

/** The receivers of webhooks, and what did not arrive. */
export const webhooksPage = (endpoints: WebhookEndpoints, bell: Pick<Bell, 'ring'>): OperatorPage => ({
  path,
  section: 'webhooks',
  fields: ['endpoint', 'delivery'],
  waiting: ({ server }) => countDeadLetters(server.database),
  async show(context, query) {
    const { server, person, notice } = context
    const before = placeOf(query.optional('before', 32))
    const letters = await listDeadLetters(server.database, before)
    const last = letters.length === lettersPerPage ? letters.at(-1) : undefined
    const statuses = await endpointStatuses(server.database, endpoints)
    context.send('operator-webhooks', {
      ...(await person.header()),
      endpoints: statuses.map((status) => shownEndpoint(context, status)),
      deadLetters: letters.map((letter) => shownLetter(context, letter)),
      previousUrl: before && ownPath(server, path),
      nextUrl: last && ownPath(server, path, { before: `${last.deadAt}-${last.id}` }),
      notice: noticeOf(notice, ['replayed', 'enabled', 'stale', 'tested', 'test-failed']),
      about: notice?.about?.split('\n')[0],
      reason: notice?.about?.split('\n')[1],
    })
  },
  async troubles({ server }) {
    const statuses = await endpointStatuses(server.database, endpoints)
    return statuses.flatMap((status): OperatorTrouble[] => {
      const state = conditionOf(status)
      const { name, backlog: count, succeededAt, disabledAt } = status
      if (state === 'ok' || (state === 'removed' && count === 0)) return []
      const since = state === 'disabled' ? disabledAt : succeededAt
      const sentence = `operator-webhooks.trouble.${state}${since === null && state !== 'removed' ? '.never' : ''}`
      return [{ name, sentence, count, ...(since !== null && { time: iso(since) }) }]
    })
  },
  acts: {
    async test(context, form) {
      const { server, info } = context
      const name = form.optional('endpoint', 64) ?? ''
      const endpoint = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined
      if (endpoint === undefined) return { notice: { kind: 'stale' } }
      const event = { type: 'webhook.test', time: server.now(), requestId: info.requestId, details: {} }
      const outcome = await post(await receiverOf(server, name, endpoint), { event, eventId: randomId() })
      if (outcome.kind === 'delivered') return { notice: { kind: 'tested', about: name } }
      const reason = outcome.kind === 'gone' ? 'the receiver answered 410' : outcome.reason
      return { notice: { kind: 'test-failed', about: `${name}\n${reason.replaceAll('\n', ' ')}` } }
    },
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
    async try(context, form) {
      const { server, info } = context
      const { database, now } = server
      const endpoint = form.optional('endpoint', 64) ?? ''
      let count = 0
      for (const priority of priorities)
        count += await hastenDeliveries(database, { endpoint, priority, now: now() })
      const hasRested = await endPause(database, { name: endpoint, now: now() })
      if (count === 0 && !hasRested) return { notice: { kind: 'stale' } }
      const deliveries = String((await findBacklog(database, { endpoint })).count)
      server.events.announce('webhook.replayed', info, { endpoint, deliveries, ...actorOf(context) })
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
