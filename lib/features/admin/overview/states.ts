import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'
import type { ShownHour, ShownTrouble } from './models.ts'

type Overview = PageModels['operator-overview']

const days = [3, 2, 1, 1, 2, 6, 21, 48, 92, 118, 121, 102, 84, 97, 110, 126, 104, 80, 61, 44, 30, 18, 9, 5]

const hours: readonly ShownHour[] = days.map((before, index) => ({
  hour: String((index + 19) % 24).padStart(2, '0'),
  signIns: Math.round(before * (index % 3 === 0 ? 1.2 : 0.9)),
  failures: Math.round(before / (index === 10 ? 2 : 12)),
  before,
}))

const sentBack: ShownTrouble = {
  kind: 'people',
  count: 312,
  isMore: false,
  since: '2026-11-21T09:40:00.000Z',
  client: { name: 'Trail Maps', url: '/admin/client?client_id=trails' },
  reason: 'redirect_uri is not registered for this client',
  difference: {
    expected: 'https://trails.example.com/callback',
    received: ['https://trails.example.com/callback', '/'],
  },
  mend: { url: '/admin/client?client_id=trails#field-redirect_uris', field: 'redirect_uris' },
  letterUrl: 'mailto:dev@trails.example.com?subject=Notes%20refuses%20requests%20of%20Trail%20Maps',
  eventsUrl: '/admin/events?type=request.refused&client=trails',
  errorId: '7F3C-91A2-B4',
}

/** Every state of the overview, as a sample. @param above what stands above every page */
export const overviewStates = (above: OperatorPageModel): Record<string, Overview> => {
  const overview: Overview = {
    ...above,
    now: {
      hours,
      isMore: true,
      locks: 4,
      locksUrl: '/admin/events?type=login.locked',
      tokens: 50_000,
      tokensUrl: '/admin/events?type=tokens.issued',
      isMoreTokens: true,
      limitedAt: '2026-11-21T16:40:00.000Z',
      alarms: [
        {
          name: 'crm',
          sentence: 'has not accepted a webhook since {time}. Waiting: {count}.',
          time: '2026-11-21T00:58:00.000Z',
          count: 61,
          url: '/admin/webhooks',
        },
      ],
      troubles: [
        sentBack,
        {
          ...sentBack,
          kind: 'requests',
          count: 1000,
          isMore: true,
          reason: 'the code has expired',
          difference: undefined,
          mend: { url: '/admin/client?client_id=trails' },
        },
        {
          ...sentBack,
          kind: 'failed',
          count: 1,
          client: undefined,
          mend: undefined,
          letterUrl: undefined,
          reason: 'server_error',
        },
      ],
      clients: [
        { name: 'Journal', url: '/admin/events?client=journal', count: 812, share: 100 },
        { name: 'Trail Maps', url: '/admin/events?client=trails', count: 301, share: 37 },
        { name: 'Order Desk', url: '/admin/events?client=desk', count: 14, share: 2 },
      ],
    },
    nextKey: { days: 11, time: '2026-12-02T09:41:00.000Z' },
    keysUrl: '/admin/keys',
  }
  const { now } = overview
  const nothing = hours.map(({ hour }) => ({ hour, signIns: 0, failures: 0, before: 0 }))
  return {
    'operator-overview': overview,
    'operator-overview-quiet': {
      ...overview,
      now: now && {
        ...now,
        hours: nothing,
        isMore: false,
        locks: 0,
        tokens: 0,
        isMoreTokens: false,
        alarms: [],
        troubles: [],
        clients: [],
      },
      nextKey: { days: 0, time: '2026-11-21T19:41:00.000Z' },
    },
    'operator-overview-off': { ...overview, now: undefined, nextKey: undefined },
  }
}
