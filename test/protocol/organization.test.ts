import type { Prompt } from '../../lib/protocol/authorization-request.ts'
import type { Client } from '../../lib/protocol/client.ts'
import { parseClientMetadata } from '../../lib/protocol/client-metadata.ts'
import { type AuthorizationContext, type NextStep, nextStep } from '../../lib/protocol/next-step.ts'
import {
  chooseOrganization,
  lastOrganization,
  type Organization,
  type OrganizationChoice,
  parseOrganizations,
} from '../../lib/protocol/organization.ts'
import { fc } from '../support/property.ts'

const acme: Organization = { id: 'acme', name: 'Acme' }
const globex: Organization = { id: 'globex', name: 'Globex' }

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
    expect(parseOrganizations(answer)).toEqual(answer)
  })

  test('is reduced to id and name', () => {
    expect(parseOrganizations([{ ...acme, plan: 'gold', owner: { password: 'x' } }])).toEqual([acme])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['an object', { 0: acme, length: 1 }],
    ['a string', 'acme'],
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
    ['a name that is not a string', [{ id: 'acme', name: ['Acme'] }]],
    ['an empty name', [{ id: 'acme', name: '' }]],
    ['a blank name', [{ id: 'acme', name: ' \t' }]],
    ['one id twice', [acme, { id: 'acme', name: 'Another' }]],
  ])('is refused: %s', (_, answer) => {
    expect(() => parseOrganizations(answer)).toThrow(TypeError)
  })

  test('is refused without a word of what was in it', () => {
    expect(() => parseOrganizations([{ id: 'secret\0id', name: 'X' }])).toThrow(
      /^organizations must return ids[^\0]*$/,
    )
  })
})

const asking = (organization?: string, prompt: readonly Prompt[] = []) => ({
  request: { prompt, ...(organization !== undefined && { organization }) },
})
const settled = (organization: string | undefined): OrganizationChoice => ({
  outcome: 'settled',
  organization,
})
const denied = (words: string): OrganizationChoice => ({
  outcome: 'denied',
  description: expect.stringContaining(words),
})
const open: OrganizationChoice = { outcome: 'open' }

describe('for which workspace a request is', () => {
  test.each<[string, Parameters<typeof chooseOrganization>[0], OrganizationChoice]>([
    ['the host knows none', { ...asking(), organizations: undefined }, settled(undefined)],
    [
      'the host knows none, one is named',
      { ...asking('acme'), organizations: undefined },
      settled(undefined),
    ],
    [
      'the host knows none, one was chosen',
      { ...asking(), organizations: undefined, chosen: 'a' },
      settled(undefined),
    ],
    ['the user is in none', { ...asking(), organizations: [] }, denied('no organization')],
    [
      'the user is in none, one is named',
      { ...asking('acme'), organizations: [] },
      denied('no organization'),
    ],
    [
      'the user is in none, prompt=none',
      { ...asking(undefined, ['none']), organizations: [] },
      denied('no organization'),
    ],
    ['the only one', { ...asking(), organizations: [acme] }, settled('acme')],
    ['the only one, prompt=none', { ...asking(undefined, ['none']), organizations: [acme] }, settled('acme')],
    ['one of several, named', { ...asking('globex'), organizations: [acme, globex] }, settled('globex')],
    ['a stranger’s, named', { ...asking('initech'), organizations: [acme, globex] }, denied('organization')],
    [
      'a stranger’s, named, and only one',
      { ...asking('initech'), organizations: [acme] },
      denied('organization'),
    ],
    ['another case, named', { ...asking('ACME'), organizations: [acme, globex] }, denied('organization')],
    [
      'one named, another chosen',
      { ...asking('acme'), organizations: [acme, globex], chosen: 'globex' },
      settled('acme'),
    ],
    ['several', { ...asking(), organizations: [acme, globex] }, open],
    [
      'several, one was chosen',
      { ...asking(), organizations: [acme, globex], chosen: 'globex' },
      settled('globex'),
    ],
    [
      'several, a stranger’s was chosen',
      { ...asking(), organizations: [acme, globex], chosen: 'initech' },
      open,
    ],
    [
      'several, one some other time',
      { ...asking(), organizations: [acme, globex], remembered: 'acme' },
      open,
    ],
    [
      'several, one some other time, prompt=none',
      { ...asking(undefined, ['none']), organizations: [acme, globex], remembered: 'acme' },
      settled('acme'),
    ],
    [
      'several, one some other time that the user has left, prompt=none',
      { ...asking(undefined, ['none']), organizations: [acme, globex], remembered: 'initech' },
      open,
    ],
    ['several, prompt=none', { ...asking(undefined, ['none']), organizations: [acme, globex] }, open],
    [
      'the chosen one was left for the only one',
      { ...asking(), organizations: [acme], chosen: 'globex' },
      settled('acme'),
    ],
  ])('%s', (_, question, choice) => {
    expect(chooseOrganization(question)).toEqual(choice)
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
          const organizations = members.map((id) => ({ id, name: id }))
          const question = asking(named, silent ? ['none'] : [])
          const choice = chooseOrganization({ ...question, organizations, chosen, remembered })
          if (choice.outcome === 'settled') {
            expect(members).toContain(choice.organization)
            if (named !== undefined) expect(choice.organization).toBe(named)
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
    consents.map(([organization, updatedAt]) => ({ organization, updatedAt }))

  test.each<[string, ReturnType<typeof used>, string | undefined]>([
    ['there is none', used(), undefined],
    ['one', used(['acme', 5]), 'acme'],
    ['the first of several', used(['globex', 6], ['acme', 5]), 'globex'],
    ['the first that the user belongs to', used(['initech', 7], ['acme', 5]), 'acme'],
    ['only one that the user has left', used(['initech', 7]), undefined],
    ['what was allowed without a workspace', used(['', 7]), undefined],
    ['two in one second', used(['globex', 5], ['acme', 5]), undefined],
    ['two in one second, one of them left', used(['initech', 5], ['acme', 5]), 'acme'],
  ])('%s', (_, consents, organization) => {
    expect(lastOrganization(consents, [acme, globex])).toBe(organization)
  })

  test('is none where the host knows no workspaces', () => {
    expect(lastOrganization(used(['acme', 5]), undefined)).toBeUndefined()
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
  const request: AuthorizationContext['request'] = {
    clientId: 'journal',
    redirectUri,
    responseType: 'code',
    responseMode: 'query',
    scopes: ['openid'],
    prompt: [],
  }
  const plain: AuthorizationContext = {
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
    if (step.step === 'issue') return `issue for ${step.organization}`
    return step.step === 'error' ? step.code : step.step
  }

  test.each<[string, Partial<AuthorizationContext>, string]>([
    ['open', { organization: open }, 'consent'],
    ['open, and consented somewhere', { organization: open, consent }, 'consent'],
    ['open, a client of the host’s own', { organization: open, ...firstParty }, 'consent'],
    ['open, prompt=none', { organization: open, ...silent }, 'interaction_required'],
    [
      'open, prompt=none, a client of the host’s own',
      { organization: open, ...silent, ...firstParty },
      'interaction_required',
    ],
    ['open, no login', { organization: undefined, login: undefined }, 'login'],
    ['open, prompt=login', { organization: open, request: { ...request, prompt: ['login'] } }, 'login'],
    ['open, an answer without a workspace', { organization: open, decision: allowed }, 'consent'],
    [
      'open, the user denied',
      { organization: open, decision: { ...allowed, allowed: false } },
      'access_denied',
    ],
    ['in none', { organization: denied('') }, 'access_denied'],
    ['in none, although consented', { organization: denied(''), consent }, 'access_denied'],
    ['in none, although allowed', { organization: denied(''), decision: allowed }, 'access_denied'],
    ['in none, a client of the host’s own', { organization: denied(''), ...firstParty }, 'access_denied'],
    ['in none, no login', { organization: undefined, login: undefined, ...silent }, 'login_required'],
    ['settled, not consented', { organization: settled('acme') }, 'consent'],
    ['settled, not consented, prompt=none', { organization: settled('acme'), ...silent }, 'consent_required'],
    ['settled and consented', { organization: settled('acme'), consent }, 'issue for acme'],
    [
      'settled and consented, prompt=none',
      { organization: settled('acme'), consent, ...silent },
      'issue for acme',
    ],
    [
      'settled, a client of the host’s own',
      { organization: settled('acme'), ...firstParty },
      'issue for acme',
    ],
    [
      'settled and allowed',
      { organization: settled('acme'), decision: { ...allowed, organization: 'acme' } },
      'issue for acme',
    ],
    [
      'settled, and another one was allowed',
      { organization: settled('acme'), decision: { ...allowed, organization: 'globex' } },
      'consent',
    ],
    [
      'settled, and another one was allowed, and consented before',
      { organization: settled('acme'), consent, decision: { ...allowed, organization: 'globex' } },
      'issue for acme',
    ],
    ['settled, allowed without one', { organization: settled('acme'), decision: allowed }, 'consent'],
    [
      'settled, allowed under another login',
      { organization: settled('acme'), decision: { ...allowed, organization: 'acme', sid: 's-0' } },
      'consent',
    ],
    ...(
      [
        ['not consented', {}, 'consent'],
        ['consented', { consent }, 'issue for acme'],
        ['a client of the host’s own', firstParty, 'issue for acme'],
        ['prompt=consent', { consent, request: { ...request, prompt: ['consent'] } }, 'consent'],
        ['denied', { decision: { ...allowed, allowed: false, organizationOnly: true } }, 'access_denied'],
      ] as [string, Partial<AuthorizationContext>, string][]
    ).map(([name, change, step]): [string, Partial<AuthorizationContext>, string] => [
      `settled by a choice alone, ${name}`,
      {
        organization: settled('acme'),
        decision: { ...allowed, scopes: [], organization: 'acme', organizationOnly: true },
        ...change,
      },
      step,
    ]),
    ['the host knows none, one was allowed', { decision: { ...allowed, organization: 'acme' } }, 'consent'],
    ['the host knows none, allowed', { decision: allowed }, 'issue for undefined'],
  ])('%s', (_, change, step) => {
    expect(summary(nextStep({ ...plain, ...change }))).toBe(step)
  })
})
