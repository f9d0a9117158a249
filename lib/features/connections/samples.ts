import { type Cause, causeInWords } from '../../events/connection-causes.ts'
import { long, type Sample, statesOf } from '../../tools/samples/sample.ts'
import type { OperatorPageModel } from '../../web/pages/operator-page-model.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import type { ShownConnection, ShownStep } from './declarations.ts'
import { connectionSteps, type StepName } from './steps.ts'

const above: OperatorPageModel = {
  sections: ['overview', 'clients', 'connections', 'users', 'keys', 'events'].map((kind) => ({
    kind,
    url: kind === 'overview' ? '/admin' : `/admin/${kind}`,
    isCurrent: kind === 'connections',
  })),
  operator: { actor: 'mira@notes.example', issuer: 'https://notes.example/oauth', isDevelopment: false },
}

const time = '2026-11-21T18:04:31.000Z'
const clock = '18:04:31'

/** The steps until the last one that was seen, and the one where the connection stopped. */
const steps = (furthest: StepName, stop?: StepName, unseen: readonly StepName[] = []): ShownStep[] =>
  connectionSteps
    .filter(
      (step) => !['refreshed', 'step-up', 'removed'].includes(step) || step === furthest || step === stop,
    )
    .map((step) => {
      if (step === stop) return { step, state: 'missing', count: 0 }
      if (unseen.includes(step)) return { step, state: 'unseen', count: 0 }
      return connectionSteps.indexOf(step) > connectionSteps.indexOf(furthest)
        ? { step, state: 'later', count: 0 }
        : { step, state: 'done', time, clock, count: step === 'refreshed' ? 12 : 1 }
    })

const stopped = (step: StepName, cause: Cause, isEnd = false): NonNullable<ShownConnection['stop']> => ({
  step,
  ...causeInWords(cause),
  requestId: '7F3C-91A2-B4',
  eventsUrl: '/admin/events?error_id=7F3C-91A2-B4',
  isEnd,
})

const connections: readonly ShownConnection[] = [
  {
    client: { name: 'Cursor', id: '6b1f0c1e', url: '/admin/client?client_id=6b1f0c1e' },
    user: { name: 'mira@notes.example', url: '/admin/users?subject=10032' },
    address: '203.0.113.7',
    agent: 'cursor/1.7',
    time,
    steps: steps('token', 'called'),
    stop: stopped('called', { name: 'authorization-dropped', values: { path: '/mcp' } }),
  },
  {
    address: '198.51.100.9',
    agent: 'node',
    time,
    steps: steps('challenge', 'resource-document'),
    stop: stopped('resource-document', {
      name: 'no-root-document',
      values: { resource: 'https://notes.example/mcp' },
    }),
  },
  {
    client: {
      name: 'Claude Code',
      id: 'https://claude.ai/oauth/claude-code-client-metadata',
      url: '/admin/client?client_id=claude',
    },
    user: { name: 'alice@example.com', url: '/admin/users?subject=10033' },
    address: '203.0.113.8',
    agent: 'claude-code/2.1',
    time,
    steps: steps('refreshed', undefined, ['allowed']),
  },
  {
    client: { name: 'Inbox Helper 3000', id: 'inbox' },
    user: { name: 'alice@example.com', url: '/admin/users?subject=10033' },
    time,
    steps: steps('removed', undefined, ['called']),
    stop: stopped('removed', { name: 'removed', values: { time: '2026-11-21T18:04:31Z' } }, true),
  },
]

const model: PageModels['operator-connections'] = {
  ...above,
  action: '/admin/connections',
  filter: { client: '', user: '', stopped: false },
  connections,
  total: connections.length,
  isWindow: false,
}

/** Every state of the page. */
export const samples: readonly Sample[] = statesOf('operator-connections', {
  'operator-connections': model,
  'operator-connections-none': {
    ...model,
    filter: { client: long, user: long, stopped: true },
    connections: [],
    total: 0,
  },
  'operator-connections-long': {
    ...model,
    total: 1234,
    isWindow: true,
    limitedAt: time,
    connections: [
      {
        client: { name: long, id: long, url: '/admin/client' },
        user: { name: long, url: '/admin/users' },
        address: '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
        agent: `${long.slice(0, 40)}/1`,
        time,
        steps: steps('token', 'called'),
        stop: stopped('called', {
          name: 'token-for-other-resource',
          values: {
            path: `/${long}`,
            expected: `https://${long}.example/mcp`,
            received: `https://${long}.example/api`,
          },
        }),
      },
    ],
  },
})
