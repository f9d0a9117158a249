import type { Prompt } from '../../lib/protocol/requests/authorization-request.ts'
import {
  chooseOrganization,
  lastOrganization,
  type Organization,
  type OrganizationChoice,
  parseOrganizations,
} from '../../lib/protocol/requests/organization.ts'
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
    ['ids that JavaScript knows otherwise', [{ id: '__proto__', name: 'constructor' }]],
  ])('is taken: %s', (_, answer) => {
    expect(parseOrganizations(answer)).toEqual(answer)
  })

  test('is reduced to id, name and detail', () => {
    const described = { ...acme, detail: '12 members' }
    expect(parseOrganizations([{ ...described, plan: 'gold', owner: { password: 'x' } }])).toEqual([
      described,
    ])
    // A column may be empty.
    for (const detail of [null, undefined, ' '])
      expect(parseOrganizations([{ ...acme, detail }])).toEqual([acme])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an object', { 0: acme, length: 1 }],
    ['a list of ids', ['acme']],
    ['a hole', [acme, undefined]],
    ['no id', [{ name: 'Acme' }]],
    ['no name', [{ id: 'acme' }]],
    ['a number for an id', [{ id: 7, name: 'Acme' }]],
    ['an empty id', [{ id: '', name: 'Acme' }]],
    ['an id of 256 characters', [{ id: 'x'.repeat(256), name: 'X' }]],
    ['an id with NUL', [{ id: 'a\0b', name: 'X' }]],
    ['an id with a line break', [{ id: 'a\nb', name: 'X' }]],
    ['an id with half a character', [{ id: 'a\ud800', name: 'X' }]],
    ['an id that was decoded wrongly', [{ id: 'a\ufffd', name: 'X' }]],
    ['an id that ends with a space, which MariaDB does not see', [{ id: 'acme ', name: 'Acme' }]],
    ['an empty name', [{ id: 'acme', name: '' }]],
    ['a blank name', [{ id: 'acme', name: ' \t' }]],
    ['a number for a detail', [{ ...acme, detail: 12 }]],
    ['one id twice', [acme, { id: 'acme', name: 'Another' }]],
  ])('is refused: %s', (_, answer) => {
    expect(() => parseOrganizations(answer)).toThrow(TypeError)
  })

  test('is refused without repeating it', () => {
    const refusing = () => parseOrganizations([{ id: 'secret\0id', name: 'X' }])
    expect(refusing).toThrow(/^organizations must return ids[^\0]*$/)
  })
})

const asking = (organization?: string, prompt: readonly Prompt[] = []) => ({
  request: { prompt, ...(organization !== undefined && { organization }) },
})
const silently = asking(undefined, ['none'])
const both = [acme, globex]
const settled = (organization: string): OrganizationChoice => ({ outcome: 'settled', organization })
const denied = (lack: 'none' | 'other'): OrganizationChoice => ({ outcome: 'denied', lack })
const open: OrganizationChoice = { outcome: 'open' }

describe('the organization of a request', () => {
  test.each<[string, Parameters<typeof chooseOrganization>[0], OrganizationChoice]>([
    ['the user is in none', { ...asking(), organizations: [] }, denied('none')],
    ['in none, one is named', { ...asking('acme'), organizations: [] }, denied('none')],
    ['the only one', { ...asking(), organizations: [acme] }, settled('acme')],
    ['one of several, named', { ...asking('globex'), organizations: both }, settled('globex')],
    ['a stranger’s, named', { ...asking('initech'), organizations: both }, denied('other')],
    ['a stranger’s, of one', { ...asking('initech'), organizations: [acme] }, denied('other')],
    ['another case, named', { ...asking('ACME'), organizations: both }, denied('other')],
    ['another chosen', { ...asking('acme'), organizations: both, chosen: 'globex' }, settled('acme')],
    ['several', { ...asking(), organizations: both }, open],
    ['several, one was chosen', { ...asking(), organizations: both, chosen: 'globex' }, settled('globex')],
    ['several, a stranger’s was chosen', { ...asking(), organizations: both, chosen: 'initech' }, open],
    [
      'several, an earlier one',
      { ...asking(), organizations: both, remembered: 'acme' },
      { outcome: 'open', suggested: 'acme' },
    ],
    ['several, an earlier one was left', { ...asking(), organizations: both, remembered: 'initech' }, open],
    [
      'several, one before, silent',
      { ...silently, organizations: both, remembered: 'acme' },
      settled('acme'),
    ],
    ['several, one left, silent', { ...silently, organizations: both, remembered: 'initech' }, open],
    ['several, prompt=none', { ...silently, organizations: both }, open],
    ['the chosen one was left', { ...asking(), organizations: [acme], chosen: 'globex' }, settled('acme')],
  ])('%s', (_, question, choice) => {
    expect(chooseOrganization(question)).toEqual(choice)
  })

  test('is never one that the user does not belong to', () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd')
    const maybe = fc.option(ids, { nil: undefined })
    fc.assert(
      fc.property(
        fc.uniqueArray(ids),
        maybe,
        maybe,
        maybe,
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
    ['what was allowed without an organization', used(['', 7]), undefined],
    ['two in one second', used(['globex', 5], ['acme', 5]), undefined],
    ['two in one second, one of them left', used(['initech', 5], ['acme', 5]), 'acme'],
  ])('%s', (_, consents, organization) => {
    expect(lastOrganization(consents, [acme, globex])).toBe(organization)
  })

  test('is none where the host knows no organizations', () => {
    expect(lastOrganization(used(['acme', 5]), undefined)).toBeUndefined()
  })
})
