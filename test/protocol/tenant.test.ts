import type { Prompt } from '../../lib/protocol/authorization-request.ts'
import type { Client } from '../../lib/protocol/client.ts'
import { parseClientMetadata } from '../../lib/protocol/client-metadata.ts'
import { type NextStep, nextStep, type Situation } from '../../lib/protocol/next-step.ts'
import {
  chooseTenant,
  lastTenant,
  parseTenants,
  type Tenant,
  type TenantChoice,
} from '../../lib/protocol/tenant.ts'
import { fc } from '../support/property.ts'

const acme: Tenant = { id: 'acme', name: 'Acme' }
const globex: Tenant = { id: 'globex', name: 'Globex' }

describe('what a host answers', () => {
  test.each<[string, unknown]>([
    ['several', [acme, globex]],
    ['none', []],
    ['two of one name', [acme, { id: 'acme-2', name: 'Acme' }]],
    ['the longest id', [{ id: 'x'.repeat(255), name: 'X' }]],
    ['ids that differ in case', [acme, { id: 'ACME', name: 'Acme' }]],
    ['ids of any script', [{ id: '東京 支社', name: '東京支社' }]],
    ['ids that JavaScript knows otherwise', [{ id: '__proto__', name: 'constructor' }]],
  ])('is taken: %s', (_, answer) => {
    expect(parseTenants(answer)).toEqual(answer)
  })

  test('is reduced to id and name', () => {
    expect(parseTenants([{ ...acme, plan: 'gold', owner: { password: 'x' } }])).toEqual([acme])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['an object', { 0: acme, length: 1 }],
    ['text', 'acme'],
    ['a list of ids', ['acme']],
    ['a hole', [acme, undefined]],
    ['no id', [{ name: 'Acme' }]],
    ['no name', [{ id: 'acme' }]],
    ['a number for an id', [{ id: 7, name: 'Acme' }]],
    ['an empty id', [{ id: '', name: 'Acme' }]],
    ['an id of 256 characters', [{ id: 'x'.repeat(256), name: 'X' }]],
    ['an id with NUL', [{ id: 'a\0b', name: 'X' }]],
    ['an id with a line break', [{ id: 'a\nb', name: 'X' }]],
    ['an id with a C1 control', [{ id: 'a\u0085b', name: 'X' }]],
    ['an id with half a character', [{ id: 'a\ud800', name: 'X' }]],
    ['an id that was decoded wrongly', [{ id: 'a\ufffd', name: 'X' }]],
    ['an id that ends with a space, which MariaDB does not see', [{ id: 'acme ', name: 'Acme' }]],
    ['an id that begins with a space', [{ id: ' acme', name: 'Acme' }]],
    ['a name that is no text', [{ id: 'acme', name: ['Acme'] }]],
    ['an empty name', [{ id: 'acme', name: '' }]],
    ['a blank name', [{ id: 'acme', name: ' \t' }]],
    ['one id twice', [acme, { id: 'acme', name: 'Another' }]],
  ])('is refused: %s', (_, answer) => {
    expect(() => parseTenants(answer)).toThrow(TypeError)
  })

  test('is refused without a word of what was in it', () => {
    expect(() => parseTenants([{ id: 'secret\0id', name: 'X' }])).toThrow(/^tenants must return ids[^\0]*$/)
  })
})

const asking = (tenant?: string, prompt: readonly Prompt[] = []) => ({
  request: { prompt, ...(tenant !== undefined && { tenant }) },
})
const settled = (tenant: string | undefined): TenantChoice => ({ outcome: 'settled', tenant })
const denied = (words: string): TenantChoice => ({
  outcome: 'denied',
  description: expect.stringContaining(words),
})
const open: TenantChoice = { outcome: 'open' }

describe('for which workspace a request is', () => {
  test.each<[string, Parameters<typeof chooseTenant>[0], TenantChoice]>([
    ['the host knows none', { ...asking(), tenants: undefined }, settled(undefined)],
    ['the host knows none, one is named', { ...asking('acme'), tenants: undefined }, settled(undefined)],
    [
      'the host knows none, one was chosen',
      { ...asking(), tenants: undefined, chosen: 'a' },
      settled(undefined),
    ],
    ['the user is in none', { ...asking(), tenants: [] }, denied('no workspace')],
    ['the user is in none, one is named', { ...asking('acme'), tenants: [] }, denied('no workspace')],
    [
      'the user is in none, prompt=none',
      { ...asking(undefined, ['none']), tenants: [] },
      denied('no workspace'),
    ],
    ['the only one', { ...asking(), tenants: [acme] }, settled('acme')],
    ['the only one, prompt=none', { ...asking(undefined, ['none']), tenants: [acme] }, settled('acme')],
    ['one of several, named', { ...asking('globex'), tenants: [acme, globex] }, settled('globex')],
    ['a stranger’s, named', { ...asking('initech'), tenants: [acme, globex] }, denied('tenant')],
    ['a stranger’s, named, and only one', { ...asking('initech'), tenants: [acme] }, denied('tenant')],
    ['another case, named', { ...asking('ACME'), tenants: [acme, globex] }, denied('tenant')],
    [
      'one named, another chosen',
      { ...asking('acme'), tenants: [acme, globex], chosen: 'globex' },
      settled('acme'),
    ],
    ['several', { ...asking(), tenants: [acme, globex] }, open],
    [
      'several, one was chosen',
      { ...asking(), tenants: [acme, globex], chosen: 'globex' },
      settled('globex'),
    ],
    ['several, a stranger’s was chosen', { ...asking(), tenants: [acme, globex], chosen: 'initech' }, open],
    ['several, one some other time', { ...asking(), tenants: [acme, globex], remembered: 'acme' }, open],
    [
      'several, one some other time, prompt=none',
      { ...asking(undefined, ['none']), tenants: [acme, globex], remembered: 'acme' },
      settled('acme'),
    ],
    [
      'several, one some other time that the user has left, prompt=none',
      { ...asking(undefined, ['none']), tenants: [acme, globex], remembered: 'initech' },
      open,
    ],
    ['several, prompt=none', { ...asking(undefined, ['none']), tenants: [acme, globex] }, open],
    [
      'the chosen one was left for the only one',
      { ...asking(), tenants: [acme], chosen: 'globex' },
      settled('acme'),
    ],
  ])('%s', (_, question, choice) => {
    expect(chooseTenant(question)).toEqual(choice)
  })

  test('is never one that the user does not belong to', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd')
    fc.assert(
      fc.property(
        fc.uniqueArray(ids),
        fc.option(ids, { nil: undefined }),
        fc.option(ids, { nil: undefined }),
        fc.option(ids, { nil: undefined }),
        fc.boolean(),
        (members, named, chosen, remembered, silent) => {
          const tenants = members.map((id) => ({ id, name: id }))
          const question = asking(named, silent ? ['none'] : [])
          const choice = chooseTenant({ ...question, tenants, chosen, remembered })
          if (choice.outcome === 'settled') {
            expect(members).toContain(choice.tenant)
            if (named !== undefined) expect(choice.tenant).toBe(named)
          }
          if (choice.outcome === 'open') expect(members.length).toBeGreaterThan(1)
          if (named !== undefined && !members.includes(named)) expect(choice.outcome).toBe('denied')
        },
      ),
    )
  })
})

describe('the last choice', () => {
  const used = (...consents: [string, number][]) =>
    consents.map(([tenant, updatedAt]) => ({ tenant, updatedAt }))

  test.each<[string, ReturnType<typeof used>, string | undefined]>([
    ['there is none', used(), undefined],
    ['one', used(['acme', 5]), 'acme'],
    ['the first of several', used(['globex', 6], ['acme', 5]), 'globex'],
    ['the first that the user belongs to', used(['initech', 7], ['acme', 5]), 'acme'],
    ['only one that the user has left', used(['initech', 7]), undefined],
    ['what was allowed without a workspace', used(['', 7]), undefined],
    ['two in one second', used(['globex', 5], ['acme', 5]), undefined],
    ['two in one second, one of them left', used(['initech', 5], ['acme', 5]), 'acme'],
  ])('%s', (_, consents, tenant) => {
    expect(lastTenant(consents, [acme, globex])).toBe(tenant)
  })

  test('is none where the host knows no workspaces', () => {
    expect(lastTenant(used(['acme', 5]), undefined)).toBeUndefined()
  })
})

describe('the next step', () => {
  const redirectUri = 'https://app.example.com/cb'
  const clientOf = (metadata: Record<string, unknown> = {}): Client => ({
    clientId: 'journal',
    secretHashes: [],
    metadata: parseClientMetadata({ redirect_uris: [redirectUri], ...metadata }),
    disabledAt: null,
  })
  const request: Situation['request'] = {
    clientId: 'journal',
    redirectUri,
    responseType: 'code',
    responseMode: 'query',
    scopes: ['openid'],
    prompt: [],
  }
  const plain: Situation = {
    request,
    client: clientOf(),
    login: { sid: 's-1', subject: '1', authTime: 1000, amr: ['pwd'] },
    consent: undefined,
    decision: undefined,
    sidAtStart: 's-1',
    now: 1000,
  }
  const silent = { request: { ...request, prompt: ['none'] as const } }
  const consent = { scopes: ['openid'] }
  const firstParty = { client: clientOf({ first_party: true }) }
  const allowed = { allowed: true, sid: 's-1', scopes: ['openid'] }
  const summary = (step: NextStep): string => {
    if (step.step === 'issue') return `issue for ${step.tenant}`
    return step.step === 'error' ? step.code : step.step
  }

  test.each<[string, Partial<Situation>, string]>([
    ['open', { tenant: open }, 'consent'],
    ['open, and consented somewhere', { tenant: open, consent }, 'consent'],
    ['open, a client of the host’s own', { tenant: open, ...firstParty }, 'consent'],
    ['open, prompt=none', { tenant: open, ...silent }, 'interaction_required'],
    [
      'open, prompt=none, a client of the host’s own',
      { tenant: open, ...silent, ...firstParty },
      'interaction_required',
    ],
    ['open, nobody logged in', { tenant: undefined, login: undefined }, 'login'],
    ['open, prompt=login', { tenant: open, request: { ...request, prompt: ['login'] } }, 'login'],
    ['open, an answer without a workspace', { tenant: open, decision: allowed }, 'consent'],
    ['open, the user denied', { tenant: open, decision: { ...allowed, allowed: false } }, 'access_denied'],
    ['in none', { tenant: denied('') }, 'access_denied'],
    ['in none, although consented', { tenant: denied(''), consent }, 'access_denied'],
    ['in none, although allowed', { tenant: denied(''), decision: allowed }, 'access_denied'],
    ['in none, a client of the host’s own', { tenant: denied(''), ...firstParty }, 'access_denied'],
    ['in none, nobody logged in', { tenant: undefined, login: undefined, ...silent }, 'login_required'],
    ['settled, not consented', { tenant: settled('acme') }, 'consent'],
    ['settled, not consented, prompt=none', { tenant: settled('acme'), ...silent }, 'consent_required'],
    ['settled and consented', { tenant: settled('acme'), consent }, 'issue for acme'],
    ['settled and consented, prompt=none', { tenant: settled('acme'), consent, ...silent }, 'issue for acme'],
    ['settled, a client of the host’s own', { tenant: settled('acme'), ...firstParty }, 'issue for acme'],
    [
      'settled and allowed',
      { tenant: settled('acme'), decision: { ...allowed, tenant: 'acme' } },
      'issue for acme',
    ],
    [
      'settled, and another one was allowed',
      { tenant: settled('acme'), decision: { ...allowed, tenant: 'globex' } },
      'consent',
    ],
    [
      'settled, and another one was allowed, and consented before',
      { tenant: settled('acme'), consent, decision: { ...allowed, tenant: 'globex' } },
      'issue for acme',
    ],
    ['settled, allowed without one', { tenant: settled('acme'), decision: allowed }, 'consent'],
    [
      'settled, allowed under another login',
      { tenant: settled('acme'), decision: { ...allowed, tenant: 'acme', sid: 's-0' } },
      'consent',
    ],
    ...(
      [
        ['not consented', {}, 'consent'],
        ['consented', { consent }, 'issue for acme'],
        ['a client of the host’s own', firstParty, 'issue for acme'],
        ['prompt=consent', { consent, request: { ...request, prompt: ['consent'] } }, 'consent'],
        ['denied', { decision: { ...allowed, allowed: false, tenantOnly: true } }, 'access_denied'],
      ] as [string, Partial<Situation>, string][]
    ).map(([name, change, step]): [string, Partial<Situation>, string] => [
      `settled by a choice alone, ${name}`,
      {
        tenant: settled('acme'),
        decision: { ...allowed, scopes: [], tenant: 'acme', tenantOnly: true },
        ...change,
      },
      step,
    ]),
    ['the host knows none, one was allowed', { decision: { ...allowed, tenant: 'acme' } }, 'consent'],
    ['the host knows none, allowed', { decision: allowed }, 'issue for undefined'],
  ])('%s', (_, change, step) => {
    expect(summary(nextStep({ ...plain, ...change }))).toBe(step)
  })
})
