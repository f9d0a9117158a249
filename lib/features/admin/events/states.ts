import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'
import type { ShownEvent } from './models.ts'

type Events = PageModels['operator-events']

const value = (text: string) => ({ text, isValue: true })
const words = (text: string) => ({ text, isValue: false })

const request = {
  name: 'requestId',
  value: '7F3C-91A2-B4',
  kind: 'text',
  url: '/admin/events?error_id=7F3C-91A2-B4',
} as const
const client = { name: 'clientId', value: 'desk', kind: 'text', url: '/admin/client?client_id=desk' } as const
const user = { name: 'subject', value: '10032', kind: 'text', url: '/admin/users?subject=10032' } as const

const refused: ShownEvent = {
  type: 'request.refused',
  tone: 'bad',
  time: '2026-11-21T18:04:31.000Z',
  clock: '18:04:31',
  sentence: [
    words('A person saw an error page on the way to '),
    value('Order Desk'),
    words(': '),
    value('redirect_uri is not registered for this client'),
  ],
  facts: [
    { name: 'type', value: 'request.refused', kind: 'text' },
    client,
    { name: 'expected', value: 'one of: https://desk.example.com/callback', kind: 'text' },
    { name: 'received', value: 'https://desk.example.com/callback/', kind: 'text' },
    request,
  ],
}
const signedIn: ShownEvent = {
  type: 'login.succeeded',
  tone: 'good',
  time: '2026-11-21T17:52:08.000Z',
  clock: '17:52:08',
  sentence: [value('Mira'), words(' signed in to '), value('Journal'), words(' from '), value('127.0.0.1')],
  facts: [{ name: 'type', value: 'login.succeeded', kind: 'text' }, user, client, request],
}
const published: ShownEvent = {
  type: 'key.published',
  tone: 'admin',
  time: '2026-11-20T09:00:00.000Z',
  clock: '09:00:00',
  sentence: [words('A new '), value('RS256'), words(' key was published by '), value('mira@notes.example')],
  facts: [
    { name: 'type', value: 'key.published', kind: 'text' },
    { name: 'signsFrom', value: '2026-12-02T09:00:00.000Z', kind: 'time' },
    { name: 'seconds', value: '900', kind: 'text', seconds: 900 },
    request,
  ],
}

/** Every state of the page of events, as a sample. @param above what stands above every page */
export const eventsStates = (above: OperatorPageModel): Record<string, Events> => {
  const filter = {
    user: '',
    client: 'desk',
    type: 'login.succeeded',
    errorId: '',
    from: '2026-11-20T00:00',
    to: '',
    span: 'day',
  }
  const events: Events = {
    ...above,
    isOn: true,
    spans: (['all', 'hour', 'day', 'week'] as const).map((kind) => ({
      kind,
      url: kind === 'all' ? '/admin/events' : `/admin/events?span=${kind}`,
      isCurrent: kind === 'day',
    })),
    action: '/admin/events',
    filter,
    groups: [
      { group: 'sign-in', types: [{ type: 'login.succeeded', title: 'Signed in' }] },
      { group: 'refused', types: [{ type: 'request.refused', title: 'A person saw an error page' }] },
    ],
    days: [
      { date: '2026-11-21T00:00:00.000Z', events: [refused, signedIn] },
      { date: '2026-11-20T00:00:00.000Z', events: [published] },
    ],
    nextUrl: '/admin/events?before=1-a',
  }
  return {
    'operator-events': events,
    'operator-events-none': {
      ...events,
      filter: { ...filter, type: 'login' },
      days: [],
      searchedTo: '2026-11-20T09:00:00.000Z',
      previousUrl: '/admin/events',
    },
    'operator-events-off': { ...events, isOn: false },
  }
}
