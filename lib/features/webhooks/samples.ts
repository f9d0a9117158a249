import { hidden, long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { ShownDeadLetter, ShownEndpoint } from './declarations.ts'

const form = { action: '/admin/webhooks', hidden }
const time = '2026-11-21T18:04:31.000Z'

const endpoints: readonly ShownEndpoint[] = [
  {
    name: 'audit',
    origin: 'https://audit.notes.example',
    backlog: 0,
    state: 'ok',
    succeeded: time,
    test: form,
  },
  {
    name: 'billing',
    origin: 'http://billing.internal:8080',
    backlog: 1204,
    oldest: time,
    state: 'down',
    succeeded: time,
    failed: time,
    failure: 'the receiver answered 503',
    next: time,
    tryNow: form,
    test: form,
    replay: form,
  },
  { name: 'crm', origin: 'https://crm.example', backlog: 12, state: 'disabled', failed: time, enable: form },
  {
    name: 'mail',
    origin: 'https://mail.example',
    backlog: 2,
    state: 'refuses',
    succeeded: time,
    refused: time,
    failure: 'the receiver answered 404',
  },
  { name: 'old', backlog: 3, state: 'removed' },
]

const deadLetters: readonly ShownDeadLetter[] = [
  {
    id: 1024,
    endpoint: 'billing',
    type: 'login.succeeded',
    user: { name: '10032', url: '/admin/users?subject=10032' },
    time,
    attempts: 10,
    failure: 'the receiver answered 500',
    replay: form,
  },
  {
    id: 988,
    endpoint: 'billing',
    attempts: 10,
    failure: 'http://billing.internal:8080: timeout',
    replay: form,
  },
]

const model: PageModels['operator-webhooks'] = {
  sections: ['overview', 'clients', 'users', 'keys', 'events', 'webhooks'].map((kind) => ({
    kind,
    url: kind === 'overview' ? '/admin' : `/admin/${kind}`,
    isCurrent: kind === 'webhooks',
  })),
  operator: { actor: 'mira@notes.example', issuer: 'https://notes.example/oauth', isDevelopment: false },
  endpoints,
  deadLetters,
}

/** Every state of the page. */
export const samples: readonly Sample[] = statesOf('operator-webhooks', {
  'operator-webhooks': model,
  'operator-webhooks-older': {
    ...model,
    previousUrl: '/admin/webhooks',
    nextUrl: '/admin/webhooks?before=1795730400-988',
  },
  'operator-webhooks-replayed': { ...model, notice: 'replayed' },
  'operator-webhooks-enabled': { ...model, notice: 'enabled' },
  'operator-webhooks-stale': { ...model, notice: 'stale' },
  'operator-webhooks-tested': { ...model, notice: 'tested', about: 'audit' },
  'operator-webhooks-test-failed': {
    ...model,
    notice: 'test-failed',
    about: 'billing',
    reason: 'the receiver answered 503',
  },
  'operator-webhooks-new': {
    ...model,
    endpoints: [{ name: 'audit', origin: 'https://audit.notes.example', backlog: 0, state: 'ok' }],
    deadLetters: [],
  },
  'operator-webhooks-long': {
    ...model,
    endpoints: [
      {
        name: long.slice(0, 32).toLowerCase(),
        origin: `https://${long}.example`,
        backlog: 1_234_567,
        state: 'down',
        failed: time,
        failure: long,
        replay: form,
      },
    ],
    deadLetters: [
      {
        id: 123_456_789,
        endpoint: long.slice(0, 32).toLowerCase(),
        type: 'second_factor.recovery_codes_renewed',
        user: { name: long, url: '/admin/users' },
        time,
        attempts: 10,
        failure: long,
        replay: form,
      },
    ],
  },
})
