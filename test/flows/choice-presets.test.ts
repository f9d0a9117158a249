import { withPresets } from '../../lib/oauth/choices/presets.ts'
import type { ConsentScope } from '../../lib/web/pages/page-models.ts'
import { codeOf } from '../support/outcomes.ts'
import { pageOf, type RawBrowser, textOf } from '../support/raw-browser.ts'
import { answerOf, redeem } from '../support/tokens.ts'
import {
  allow,
  everything,
  host,
  requestUrl,
  scope,
  signedIn,
  these,
  tokensOf,
  withProjects,
} from './choices.ts'

withProjects()
let agent: RawBrowser
beforeEach(async () => {
  agent = await signedIn()
})

const selectedIn = (html: string): string | undefined => /name="preset" value="(\w+)" checked/.exec(html)?.[1]
const without = scope.replace(' tasks:write', '')

describe('the presets of the consent page', () => {
  test('offer everything, only what reads, and a choice, and name what reading leaves out', async () => {
    const page = await agent.open(requestUrl())
    expect(textOf(page)).toMatch(
      /What Web client can do All it asks for Read only Let me choose .*See tasks Needed .*Change tasks Not included Optional/,
    )
    expect(selectedIn(page.html)).toBe('all')
  })

  test.each<[string, Record<string, string>, string]>([
    ['all is everything, also what was not ticked', { preset: 'all' }, scope],
    [
      'read is without what changes something, also if it is ticked',
      { preset: 'read', 'scope:tasks:write': 'on' },
      without,
    ],
    ['choose is what is ticked', { preset: 'choose', 'scope:tasks:write': 'on' }, scope],
    ['an unknown preset is what is ticked', { preset: 'admin', 'scope:tasks:write': 'on' }, scope],
  ])('%s', async (_, fields, granted) => {
    const page = await agent.open(requestUrl())
    const html = page.html.replace(/(name="scope:tasks:write"[^>]*) checked/, '$1')
    const answer = await agent.decide({ ...page, html }, 'allow', { ...everything, ...fields })
    const tokens = await answerOf(redeem(host, codeOf(answer)))
    expect(tokens.scope).toBe(granted)
  })

  test('offer nothing where the client requires all that it asks for, and nothing can be left out', async () => {
    const page = await agent.open(requestUrl({ client_id: 'strict' }))
    expect(page.html).not.toMatch(/name="(?:preset|scope:tasks:write)"/)
    const answer = await agent.decide(page, 'allow', { ...everything, preset: 'read' })
    const tokens = await answerOf(redeem(host, codeOf(answer), { client_id: 'strict' }))
    expect(tokens.scope).toBe(scope)
  })

  test('the receipt says what was left out, and the next request for it asks again with the same preset', async () => {
    await tokensOf(agent, { ...everything, preset: 'read' })
    const { receipts } = (await host.oauth.users.export(1)) as unknown as {
      receipts: { scopes: { name: string; allowed: boolean }[] }[]
    }
    expect(receipts[0]?.scopes.filter(({ allowed }) => !allowed).map(({ name }) => name)).toEqual([
      'tasks:write',
    ])
    const page = await agent.open(requestUrl())
    expect(pageOf(page)).toBe('200 /consent')
    expect(selectedIn(page.html)).toBe('read')
    expect(textOf(page)).toMatch(/Change tasks Not included New/)
  })

  test('a preset stays while things are chosen and when the page comes again', async () => {
    const again = await allow(agent, { preset: 'read', 'choice:project': 'these' })
    expect(textOf(again)).toContain('Choose what Web client may use.')
    expect(selectedIn(again.html)).toBe('read')
    const tokens = await answerOf(redeem(host, codeOf(await agent.decide(again, 'allow', these('p1')))))
    expect(tokens.scope).toBe(without)
  })

  test('without a scope of the kind that is left, no things are needed', async () => {
    const page = await agent.open(requestUrl({ scope: 'openid notes:read tasks:write' }))
    const answer = await agent.decide(page, 'allow', { preset: 'read', 'choice:project': 'these' })
    const tokens = await answerOf(redeem(host, codeOf(answer)))
    expect(tokens.scope).toBe('openid notes:read')
  })

  test('there are none if nothing is optional', async () => {
    const page = await agent.open(requestUrl({ scope: 'openid tasks:read' }))
    expect(page.html).not.toContain('name="preset"')
  })
})

describe('the preset that is selected at first', () => {
  const line = (name: string, more: Partial<ConsentScope> = {}): ConsentScope => ({
    name,
    description: name,
    group: 'read',
    optional: false,
    isNew: false,
    checked: true,
    ...more,
  })
  const read = line('read')
  const write = line('write', { group: 'change', optional: true })
  const risky = line('delete', { group: 'other', optional: true, isHighRisk: true, checked: false })
  const known = { isDraft: false, isKnown: true, isVouchedFor: true }
  const fresh = { isDraft: false, isKnown: false, isVouchedFor: true }
  const stranger = { ...fresh, isVouchedFor: false }

  test.each([
    ['all for a client that the host vouches for', [read, write], fresh, 'all'],
    ['read only for an unverified client', [read, write], stranger, 'read'],
    ['never all if something sensitive is not ticked', [read, write, risky], fresh, 'choose'],
    ['read only if only what reads is ticked', [read, risky], fresh, 'read'],
    ['all if a stranger asks for nothing that reads', [write], stranger, 'all'],
    ['what was allowed before: all', [read, write], known, 'all'],
    ['what was allowed before: read only', [read, { ...write, isNew: true }], known, 'read'],
    [
      'all that is new if reading is new too',
      [
        { ...read, isNew: true },
        { ...write, isNew: true },
      ],
      known,
      'all',
    ],
    ['what the user has ticked, for a stranger too', [read, write], { ...stranger, isDraft: true }, 'all'],
  ])('is %s', (_, lines, first, expected) => {
    expect(withPresets(lines, first).preset).toBe(expected)
  })

  test('is not read only if the client must have what changes something', () => {
    const needed = line('manage', { group: 'change' })
    expect(withPresets([read, needed, write], stranger)).toMatchObject({
      presets: ['all', 'choose'],
      preset: 'all',
    })
  })
})
