import {
  askedKinds,
  type Choices,
  type Chosen,
  choicesIn,
  intersectChoices,
  intersectChosen,
  isWithinChoices,
  isWithinChosen,
  mostChosen,
} from '../../lib/protocol/choices.ts'
import { parseAuthorizationDetails } from '../../lib/protocol/requests/authorization-details.ts'
import {
  choiceDetails,
  narrowedChoices,
  parseChoiceDetails,
} from '../../lib/protocol/requests/choice-details.ts'
import { parseThings } from '../../lib/protocol/things.ts'
import { fc, runs } from '../support/property.ts'

const project = { kind: 'project', scopes: ['tasks:read', 'tasks:write'], all: true }
const account = { kind: 'account', scopes: ['pay'], all: false }
const kinds = [project, account]
const scopes = ['tasks:read', 'pay']

const ids = ['p1', 'p2', 'p3', 'p4']
const chosen: fc.Arbitrary<Chosen> = fc.oneof(fc.constant('all' as const), fc.subarray(ids))
const choices: fc.Arbitrary<Choices> = fc.dictionary(fc.constantFrom('project', 'account', 'other'), chosen)
const holds = (one: Chosen, id: string): boolean => one === 'all' || one.includes(id)

describe('two choices together', () => {
  test('have what is in both, and nothing else', () => {
    fc.assert(
      fc.property(chosen, chosen, fc.constantFrom(...ids, 'later'), (one, other, id) => {
        expect(holds(intersectChosen(one, other), id)).toBe(holds(one, id) && holds(other, id))
      }),
      { numRuns: runs(300) },
    )
  })

  test('are within each of them, for every kind', () => {
    fc.assert(
      fc.property(choices, choices, (one, other) => {
        const both = intersectChoices(one, other)
        expect([isWithinChoices(both, one), isWithinChoices(both, other)]).toEqual([true, true])
        for (const kind of Object.keys(both)) expect(both[kind]?.length).toBeGreaterThan(0)
      }),
      { numRuns: runs(300) },
    )
  })

  test('one is within the other if and only if nothing of it is lost', () => {
    fc.assert(
      fc.property(chosen, chosen, (one, other) => {
        const lost = [...ids, 'later'].some((id) => holds(one, id) && !holds(other, id))
        expect(isWithinChosen(one, other)).toBe(!lost)
      }),
      { numRuns: runs(300) },
    )
  })
})

describe('what a token says', () => {
  test('is what was chosen, for the kinds that its scopes are about', () => {
    expect(choiceDetails(kinds, scopes, { project: ['p1'], account: 'all' })).toEqual([
      { type: 'project', actions: ['tasks:read'], identifiers: ['p1'] },
      { type: 'account', actions: ['pay'] },
    ])
    expect(choiceDetails(kinds, ['openid'], { project: 'all' })).toEqual([])
  })

  test('has no things of a kind from which the user chose nothing', () => {
    expect(choiceDetails(kinds, scopes, { project: [] })).toEqual([])
    expect(choiceDetails(kinds, scopes, {})).toEqual([])
  })

  test('is read as it was written', () => {
    fc.assert(
      fc.property(choices, (given) => {
        const read = choicesIn(choiceDetails(kinds, ['tasks:write', 'pay'], given))
        const { project = [], account = [] } = given
        expect([read.project ?? [], read.account ?? []]).toEqual([project, account])
      }),
      { numRuns: runs(200) },
    )
  })

  test.each([[null], ['p1'], [[1]], [[' p1']], [{}]])('is nothing if its ids are %j', (identifiers) => {
    expect(choicesIn([{ type: 'project', identifiers }])).toEqual({})
  })
})

describe('the objects that a request names', () => {
  const parse = (...objects: object[]) =>
    parseChoiceDetails(kinds, parseAuthorizationDetails(JSON.stringify(objects), 300), scopes)

  test('are read with their ids, each once, and others are left', () => {
    const payment = { type: 'payment', amount: '1' }
    const read = parse({ type: 'project', identifiers: ['p1', 'p1', 'p2'] }, payment, { type: 'account' })
    expect(read).toEqual({ choices: { project: ['p1', 'p2'], account: 'all' }, others: [payment] })
  })

  test.each<[string, object[]]>([
    ['an unknown member', [{ type: 'project', identifiers: ['p1'], privileges: ['admin'] }]],
    ['no list', [{ type: 'project', identifiers: 'p1' }]],
    ['an empty list', [{ type: 'project', identifiers: [] }]],
    ['a number', [{ type: 'project', identifiers: [1] }]],
    ['an id of 256 characters', [{ type: 'project', identifiers: ['x'.repeat(256)] }]],
    ['201 ids', [{ type: 'project', identifiers: Array.from({ length: 201 }, (_, n) => `p${n}`) }]],
    ['the kind twice', [{ type: 'project' }, { type: 'project', identifiers: ['p1'] }]],
    ['actions beyond the scopes', [{ type: 'project', actions: ['tasks:write'] }]],
    ['actions of another kind', [{ type: 'project', actions: ['pay'] }]],
  ])('are refused with %s', (_, objects) => {
    expect(() => parse(...objects)).toThrow('authorization_details')
  })

  test('are refused if the request has no scope of the kind', () => {
    expect(() => parseChoiceDetails(kinds, [{ type: 'account' }], ['tasks:read'])).toThrow(
      'authorization_details has the type account, and scope has none of its scopes',
    )
  })

  test('never widen what was chosen', () => {
    fc.assert(
      fc.property(choices, choices, (requested, granted) => {
        try {
          expect(isWithinChoices(narrowedChoices(requested, granted), granted)).toBe(true)
        } catch (error) {
          expect(error).toHaveProperty('code', 'invalid_authorization_details')
        }
      }),
      { numRuns: runs(300) },
    )
  })

  test('leave a kind that they do not name, and take all that was chosen of one without ids', () => {
    const granted = { project: ['p1', 'p2'], account: ['a1'] }
    expect(narrowedChoices({ project: ['p2'] }, granted)).toEqual({ project: ['p2'], account: ['a1'] })
    expect(narrowedChoices({ project: 'all' }, granted)).toEqual(granted)
    expect(() => narrowedChoices({ project: ['p3'] }, granted)).toThrow('not granted')
    expect(() => narrowedChoices({ other: ['o1'] }, granted)).toThrow('not granted')
  })
})

test('a request asks about the kinds of its scopes', () => {
  expect(askedKinds(kinds, ['openid', 'pay'])).toEqual([account])
})

describe('the things that a host returns', () => {
  test('are reduced to what the pages show, and the same id twice counts once', () => {
    const one = { id: 'p1', name: 'One', detail: ' ', secret: 'x' }
    expect(parseThings([one, { ...one, name: 'Two' }, { id: 'p2', name: 'Two', group: 'Team' }], 10)).toEqual(
      [
        { id: 'p1', name: 'One' },
        { id: 'p2', name: 'Two', group: 'Team' },
      ],
    )
  })

  test('lose characters that would show a name as another', () => {
    expect(
      parseThings(
        [
          { id: 'p1', name: '\u202egpj.exe\n' },
          { id: 'p2', name: '\u2066\u2069' },
        ],
        10,
      ),
    ).toEqual([
      { id: 'p1', name: 'gpj.exe' },
      { id: 'p2', name: 'p2' },
    ])
  })

  test('are read no further than asked for, even if there are a million', () => {
    const million = Array.from({ length: 1_000_000 }, (_, n) => ({ id: `p${n}`, name: `P ${n}` }))
    expect(parseThings(million, mostChosen)).toHaveLength(mostChosen)
  })

  test.each<[string, unknown]>([
    ['no list', { items: [] }],
    ['no object', ['p1']],
    ['a number as id', [{ id: 1, name: 'One' }]],
    ['a space around the id', [{ id: ' p1', name: 'One' }]],
    ['no name', [{ id: 'p1' }]],
    ['an object as detail', [{ id: 'p1', name: 'One', detail: {} }]],
  ])('are refused with %s', (_, returned) => {
    expect(() => parseThings(returned, 10)).toThrow(TypeError)
  })
})
