import { csvLine } from '../../../lib/features/organization-apps/activity.ts'
import {
  type AppOutcome,
  type AppRule,
  appOf,
  everyApp,
  isApp,
  ruleFor,
  shownMark,
  unverifiedApps,
  withinLimit,
} from '../../../lib/features/organization-apps/rules.ts'
import { noClient } from '../../../lib/features/personal-tokens/verify.ts'
import type { Client } from '../../../lib/protocol/clients/client.ts'
import { parseClientMetadata } from '../../../lib/protocol/clients/client-metadata.ts'

const client = (clientId: string, metadata: object = {}): Client => ({
  clientId,
  secretHashes: [],
  disabledAt: null,
  metadata: {
    ...parseClientMetadata({ redirect_uris: ['https://tools.example.net/callback'] }),
    ...metadata,
  },
})
const described = (url: string, metadata: object = {}): Client =>
  client(url, { ...metadata, self_described: 'document' })

test.each([
  ['at the same host', 'https://tools.example.net/other.json', true],
  ['at another port', 'https://tools.example.net:8443/app.json', false],
  ['at the usual port, written out', 'https://tools.example.net:443/app.json', true],
  ['at a host below', 'https://evil.tools.example.net/app.json', false],
  ['at a host that begins alike', 'https://tools.example.net.evil.example/app.json', false],
  ['with the host in the path', 'https://evil.example/tools.example.net', false],
])('an app that describes itself %s', (_, url, isSame) => {
  const name = { client_name: 'Tools', redirect_uris: ['https://tools.example.net/callback'] }
  const approved = appOf(described('https://tools.example.net/app.json'))
  expect(approved).toBe('host:tools.example.net')
  expect(appOf(described(url, name)) === approved).toBe(isSame)
})

test('a client that only names the host of an approved app is another app', () => {
  expect(appOf(client('https://tools.example.net/app.json'))).toBe(
    'client:https://tools.example.net/app.json',
  )
  expect(appOf(client('host:tools.example.net'))).toBe('client:host:tools.example.net')
})

test('clients of the host’s own and tokens without a client are no apps', () => {
  expect(isApp(client('journal'))).toBe(true)
  expect(isApp(client('ours', { first_party: true }))).toBe(false)
  expect(isApp({ metadata: noClient })).toBe(false)
})

const rule = (app: string, outcome: AppOutcome): AppRule => ({ app, outcome, decidedAt: 1 })
test.each<
  [AppOutcome | undefined, AppOutcome | undefined, AppOutcome | undefined, boolean, AppOutcome | undefined]
>([
  [undefined, undefined, undefined, true, undefined],
  ['ask', undefined, undefined, false, 'ask'],
  ['ask', 'blocked', undefined, false, 'ask'],
  ['ask', 'blocked', undefined, true, 'blocked'],
  ['blocked', 'ask', undefined, true, 'blocked'],
  ['allowed', 'ask', undefined, true, 'ask'],
  ['blocked', 'blocked', 'allowed', true, 'allowed'],
  ['allowed', undefined, 'blocked', false, 'blocked'],
])(
  'all apps %s, unverified ones %s, this app %s, unverified: %s → %s',
  (every, unverified, own, is, expected) => {
    const rules = [
      ...(every ? [rule(everyApp, every)] : []),
      ...(unverified ? [rule(unverifiedApps, unverified)] : []),
      ...(own ? [rule('client:journal', own)] : []),
    ]
    expect(ruleFor(rules, 'client:journal', is)?.outcome).toBe(expected)
  },
)

test('Read only takes what changes and what is sensitive, and never what says who the user is', () => {
  const scopes = {
    'notes:read': { description: 'Read', group: 'read' },
    'notes:write': { description: 'Write', group: 'change' },
    'notes:export': { description: 'Export', group: 'read', risk: 'high' },
  }
  const server = { options: { scopes } } as never
  const asked = ['openid', 'offline_access', 'notes:read', 'notes:write', 'notes:export']
  expect(withinLimit(server, asked, 'read')).toEqual(['openid', 'offline_access', 'notes:read'])
  expect(withinLimit(server, asked, ['notes:write'])).toEqual(['openid', 'offline_access', 'notes:write'])
  expect(withinLimit(server, asked, undefined)).toEqual(asked)
})

test.each([
  ['name', { client_name: 'Other' }],
  ['redirect URIs', { redirect_uris: ['https://other.example.com/callback'] }],
  ['scopes', { scope: 'openid notes:write' }],
  ['place', { self_described: 'document' }],
])('an app with another %s is not the one that was shown', (_, changed) => {
  const shown = client('https://tools.example.net/app.json', { client_name: 'Tools', scope: 'openid' })
  expect(shownMark({ ...shown })).toBe(shownMark(shown))
  expect(shownMark({ ...shown, metadata: { ...shown.metadata, ...changed } as never })).not.toBe(
    shownMark(shown),
  )
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1'])(
  'a cell that begins with %j is no formula',
  (cell) => {
    expect(csvLine([cell])).toBe(`"'${cell}"\r\n`)
  },
)

test('a cell with quotes stays one cell', () => {
  expect(csvLine(['a "b", c', 'x=1'])).toBe('"a ""b"", c","x=1"\r\n')
})
