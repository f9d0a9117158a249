import { claimNames, protocolClaims, releasedClaims, standardScopeClaims } from '../../lib/protocol/claims.ts'
import { claimEntry } from '../../lib/protocol/requests/consent.ts'
import { parseScope } from '../../lib/protocol/scope.ts'
import { fc } from '../support/property.ts'

const everyScope = Object.keys(standardScopeClaims)
const released = (
  claims: Record<string, unknown>,
  scopes = everyScope,
  scopeClaims = standardScopeClaims,
): unknown => releasedClaims(claims, scopes, scopeClaims)

describe('a scope reveals its claims and no others (OIDC Core §5.4)', () => {
  const user = {
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    email_verified: true,
    phone_number: '+44 1',
    address: { country: 'GB' },
    password_hash: '$2b$…',
    roles: ['admin'],
  }
  test.each([
    ['no scope', [], {}],
    ['openid', ['openid'], {}],
    ['profile', ['profile'], { name: 'Ada Lovelace' }],
    ['email', ['email'], { email: 'ada@example.com', email_verified: true }],
    ['phone', ['phone'], { phone_number: '+44 1' }],
    ['an undefined scope', ['admin'], {}],
    ['a scope that every object has', ['constructor', '__proto__', 'toString'], {}],
  ])('%s', (_case, scopes, claims) => {
    expect(released(user, scopes)).toEqual(claims)
  })

  test('a custom scope reveals the claims that the host named, unchanged', () => {
    const scopeClaims = { ...standardScopeClaims, roles: ['roles', 'organization'], quiet: [] }
    const claims = { ...user, organization: { id: 7, tags: ['a'] } }
    const { roles, organization } = claims
    expect(released(claims, ['roles'], scopeClaims)).toEqual({ roles, organization })
    expect(released(claims, ['quiet'], scopeClaims)).toEqual({})
    const names = [...claimNames(['roles', 'email'], scopeClaims)]
    expect(names).toEqual(['roles', 'organization', 'email', 'email_verified'])
  })
})

test.each([...protocolClaims])('%s is the protocol’s own: no scope and no user data sets it', (name) => {
  expect(released({ [name]: 'forged', ok: 1 }, ['evil'], { evil: [name, 'ok'] })).toEqual({ ok: 1 })
})

const registered =
  'iss sub aud exp iat nbf jti nonce auth_time acr amr azp at_hash c_hash sid client_id scope cnf'
test.each(registered.split(' '))('the protocol’s own claims hold %s', (name) => {
  expect(protocolClaims.has(name)).toBe(true)
})

test.each([null, undefined, ''])('a claim that is %j is absent (OIDC Core §5.3.2)', (value) => {
  const names = [...claimNames(everyScope, standardScopeClaims), 'roles']
  const claims = Object.fromEntries(names.map((name) => [name, value]))
  expect(released(claims, [...everyScope, 'roles'], { ...standardScopeClaims, roles: ['roles'] })).toEqual({})
})

test('a claim that an object inherits is not a claim', () => {
  expect(released(Object.create({ name: 'inherited' }))).toEqual({})
})

describe('types (OIDC Core §5.1)', () => {
  test.each(['email_verified', 'phone_number_verified'])(
    '%s is a boolean, however a database keeps it',
    (name) => {
      for (const value of [true, 1, 1n, '1', 't', 'true'])
        expect(released({ [name]: value })).toEqual({ [name]: true })
      for (const value of [false, 0, 0n, '0', 'f', 'false'])
        expect(released({ [name]: value })).toEqual({ [name]: false })
    },
  )

  test.each([
    ['another number', 2],
    ['another bigint', 2n],
    ['a word', 'yes'],
    ['an object', {}],
  ])('email_verified that is %s is absent and never taken for true', (_case, value) => {
    expect(released({ email_verified: value })).toEqual({})
  })

  test.each([
    ['a number of seconds', 1_700_000_000, 1_700_000_000],
    ['a fraction', 1_700_000_000.9, 1_700_000_000],
    ['a bigint', 1_700_000_000n, 1_700_000_000],
    ['a bigint column, which PostgreSQL returns as a string', '1700000000', 1_700_000_000],
    ['a Date', new Date('2023-11-14T22:13:20.900Z'), 1_700_000_000],
    ['a date as ISO 8601', '2023-11-14T22:13:20Z', 1_700_000_000],
  ])('updated_at from %s is a number of seconds', (_case, value, seconds) => {
    expect(released({ updated_at: value })).toEqual({ updated_at: seconds })
  })

  test.each([
    ['not a number', Number.NaN],
    ['an invalid Date', new Date(Number.NaN)],
    ['a word', 'yesterday'],
    ['an object', {}],
  ])('updated_at that is %s is absent', (_case, value) => {
    expect(released({ updated_at: value })).toEqual({})
  })

  test.each([
    ['a string', '1815-12-10', '1815-12-10'],
    ['a year alone', '1815', '1815'],
    ['a Date at midnight UTC', new Date('1815-12-10T00:00:00Z'), '1815-12-10'],
    ['a Date at local midnight, as drivers give a DATE column', new Date(1990, 4, 17), '1990-05-17'],
    ['a Date before the year 1000', new Date('0987-01-02T00:00:00Z'), '0987-01-02'],
  ])('birthdate from %s is YYYY-MM-DD or YYYY', (_case, value, date) => {
    expect(released({ birthdate: value })).toEqual({ birthdate: date })
  })

  test.each([
    ['an invalid Date', new Date(Number.NaN)],
    ['a day in another order', '10.12.1815'],
    ['a day with a time', '1815-12-10T00:00:00Z'],
    ['a word', 'yesterday'],
    ['an object', {}],
  ])('birthdate that is %s is absent', (_case, value) => {
    expect(released({ birthdate: value })).toEqual({})
  })

  test.each([['London'], [['London']], [5]])('address that is %j is absent', (value) => {
    expect(released({ address: value })).toEqual({})
  })

  test.each([
    ['a number', 5, { name: '5' }],
    ['a bigint', 5n, { name: '5' }],
    ['an object', { first: 'Ada' }, {}],
    ['a function', () => 'Ada', {}],
  ])('a standard string claim that is %s is a string or absent', (_case, value, claims) => {
    expect(released({ name: value })).toEqual(claims)
  })
})

test('a custom claim that JSON cannot hold is an error that names it', () => {
  const circular: unknown[] = []
  circular.push(circular)
  expect(() => releasedClaims({ teams: circular }, ['team'], { team: ['teams'] })).toThrow(
    'the claim teams cannot be written as JSON',
  )
})

test('standard claims of any row have their types, and are JSON', () => {
  const value = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }),
    fc.date({ noInvalidDate: false }),
  )
  const names = [...claimNames(everyScope, standardScopeClaims)]
  fc.assert(
    fc.property(
      fc.record(Object.fromEntries(names.filter((name) => name !== 'address').map((name) => [name, value])), {
        requiredKeys: [],
      }),
      (claims) => {
        const sent: Record<string, unknown> = JSON.parse(JSON.stringify(released(claims)))
        for (const [name, one] of Object.entries(sent)) {
          const type = name.endsWith('_verified') ? 'boolean' : name === 'updated_at' ? 'number' : 'string'
          expect([name, typeof one]).toEqual([name, type])
        }
        if ('birthdate' in sent) expect(sent.birthdate).toMatch(/^[0-9]{4}(-[0-9]{2}-[0-9]{2})?$/)
      },
    ),
    { numRuns: 500 },
  )
})

test('the entry of a single claim in a consent is never a scope name', () => {
  expect(() => parseScope(claimEntry('email'))).toThrow(expect.objectContaining({ code: 'invalid_scope' }))
})
