import { maxHeaderSize } from 'node:http'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { lengths, sizes } from '../../lib/protocol/lengths.ts'
import { Parameters } from '../../lib/protocol/parameters.ts'
import {
  clientCredentialsScopes,
  formatScope,
  grantableScopes,
  isWithinScopes,
  narrowedScopes,
  parseScope,
  refreshedScopes,
} from '../../lib/protocol/scope.ts'
import { fc } from '../support/property.ts'

const refused = (code: string, description = ''): Error =>
  expect.objectContaining({ code, message: expect.stringContaining(description) })
const query = (text: string): Parameters => Parameters.from(new URLSearchParams(text))
const one = (name: string, value: string): Parameters => Parameters.from([[name, value]])
const inherited = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf', '__defineGetter__']

describe('parameters', () => {
  test('empty means absent (RFC 6749 §3.1)', () => {
    const parameters = query('scope=&state&nonce=n')
    expect(parameters.has('scope')).toBe(false)
    expect(parameters.optional('scope')).toBeUndefined()
    expect(parameters.optional('state')).toBeUndefined()
    expect(() => parameters.required('scope')).toThrow(refused('invalid_request', 'scope is required'))
    expect(parameters.names()).toEqual(['nonce'])
    const repeated = query('state=&state=s&state=')
    expect(repeated.required('state')).toBe('s')
    expect(() => repeated.assertEachOnce()).not.toThrow()
  })

  test.each([
    ['different values', 'client_id=a&client_id=b'],
    ['an encoded name', 'client_id=a&%63lient_id=b'],
  ])('a repeat with %s is refused when read and when counted (RFC 6749 §3.1)', (_case, text) => {
    const parameters = query(text)
    expect(() => parameters.optional('client_id')).toThrow(refused('invalid_request', 'repeated'))
    expect(() => parameters.required('client_id')).toThrow(refused('invalid_request', 'repeated'))
    expect(() => parameters.verbatim('client_id', 100)).toThrow(refused('invalid_request', 'repeated'))
    expect(() => parameters.assertEachOnce()).toThrow(refused('invalid_request', 'repeated'))
  })

  test('a repeated unknown parameter is refused without naming it', () => {
    const parameters = query('%3Cscript%3E=1&%3Cscript%3E=2')
    expect(() => parameters.assertEachOnce()).toThrow(refused('invalid_request'))
    expect(() => parameters.assertEachOnce()).not.toThrow('script')
  })

  test('all values of a parameter that may be repeated, in the order sent (RFC 8707 §2)', () => {
    const parameters = query('resource=https://b.example&x=1&resource=&resource=https://a.example')
    expect(() => parameters.assertEachOnce()).not.toThrow()
    expect(parameters.all('resource')).toEqual(['https://b.example', 'https://a.example'])
    expect(query('resource=https://a.example').all('resource')).toEqual(['https://a.example'])
    expect(query('resource=&x=1').all('resource')).toEqual([])
  })

  test('a parameter that may be repeated is still refused where one value is expected', () => {
    const parameters = query('resource=https://a.example&resource=https://b.example')
    expect(() => parameters.optional('resource')).toThrow(refused('invalid_request', 'resource must not be'))
    expect(() => parameters.required('resource')).toThrow(refused('invalid_request', 'resource must not be'))
    expect(query('resource=https://a.example').required('resource')).toBe('https://a.example')
  })

  test('brackets are part of a name, not a repeat or an object', () => {
    const parameters = query('client_id[]=a&client_id[x]=b&client_id=c')
    expect(parameters.required('client_id')).toBe('c')
    expect(() => parameters.assertEachOnce()).not.toThrow()
  })

  test.each(inherited)('%s is only a name: absent until it is sent', (name) => {
    expect(Parameters.from([]).has(name)).toBe(false)
    expect(Parameters.from([]).optional(name)).toBeUndefined()
    const sent = one(name, 'polluted')
    expect(sent.optional(name)).toBe('polluted')
    expect(sent.names()).toEqual([name])
    expect({}).not.toHaveProperty('polluted')
    expect(() => one(name, 'x'.repeat(2049)).optional(name)).toThrow(refused('invalid_request', '2048'))
  })

  test.each([
    ['NUL', '\0'],
    ['newline', '\n'],
    ['the last of C0', '\u001f'],
    ['the first of C1', '\u0080'],
    ['the last of C1', '\u009f'],
    ['what decoding leaves of invalid UTF-8', '\ufffd'],
  ])('%s is refused anywhere in a value', (_name, character) => {
    for (const value of [character, `a${character}b`]) {
      const reading = () => one('state', value).optional('state')
      expect(reading).toThrow(refused('invalid_request', 'control characters'))
    }
  })

  test('bytes that are not UTF-8 are refused', () => {
    expect(() => query('state=%ff').optional('state')).toThrow(refused('invalid_request'))
    expect(() => query('state=%c0%af').optional('state')).toThrow(refused('invalid_request'))
  })

  test.each([
    ['space', ' '],
    ['emoji', '🗝️'],
    ['percent', '%00'],
    ['markup', '<b>&"\''],
  ])('a value with %s comes out as it went in', (_name, value) => {
    expect(query(`state=${encodeURIComponent(value)}`).required('state')).toBe(value)
  })

  test('a password keeps its control characters; only count and length are checked', () => {
    expect(one('password', 'a\tb\ufffd').verbatim('password', 4)).toBe('a\tb\ufffd')
    expect(() => one('password', 'abcde').verbatim('password', 4)).toThrow(refused('invalid_request', '4'))
  })

  test.each([
    ['client_id', 255],
    ['nonce', 512],
    ['code', 128],
    ['redirect_uri', 2048],
    ['state', 4096],
    ['scope', 16_384],
    ['authorization_details', 8192],
    ['client_assertion', 16_384],
    ['request', 16_384],
    ['anything', 2048],
  ])('%s may have %i characters and no more', (name, limit) => {
    expect(one(name, 'x'.repeat(limit)).required(name)).toHaveLength(limit)
    expect(() => one(name, 'x'.repeat(limit + 1)).required(name)).toThrow(
      refused('invalid_request', `${name} must not exceed ${limit} characters`),
    )
  })

  /** What carries a token to each endpoint, and which tokens it may get together. */
  const carriers = [
    ['id_token_hint'],
    ['access_token'],
    ['token', 'client_assertion'],
    ['refresh_token', 'client_assertion'],
    ['assertion', 'client_assertion'],
    ['request', 'client_assertion'],
    ['subject_token', 'actor_token', 'client_assertion'],
  ]
  test.each(carriers)(
    '%s and what comes with it carry any token, and one form holds them all',
    (...names) => {
      const longest = 'x'.repeat(lengths.token)
      for (const name of names) expect(one(name, longest).required(name)).toBe(longest)
      expect(names.length * lengths.token + lengths.scope).toBeLessThanOrEqual(sizes.form)
    },
  )

  test('what fits one place fits the next: a header, a parameter, a form, and a form that is sent again', () => {
    expect(lengths.token).toBeGreaterThanOrEqual(maxHeaderSize)
    expect(lengths.scope).toBeGreaterThanOrEqual(sizes.description)
    const again = new URLSearchParams({ client_form: Buffer.alloc(sizes.form).toString('base64url') })
    expect(again.toString().length).toBeLessThanOrEqual(sizes.repeatedForm)
  })

  test('a request may have 64 parameters and no more, empty and repeated ones counted', () => {
    const pairs = Array.from({ length: 64 }, (_, index): [string, string] =>
      index < 60 ? [`p${index}`, index < 30 ? '' : 'x'] : ['state', 'x'],
    )
    expect(() => Parameters.from(pairs)).not.toThrow()
    expect(() => Parameters.from([...pairs, ['p', '']])).toThrow(refused('invalid_request', '64'))
  })

  const name = fc.oneof(
    fc.constantFrom('client_id', 'state', 'scope', 'nonce', 'code', 'resource', ...inherited),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'binary', maxLength: 600 })), { maxLength: 70 })

  test('arbitrary pairs give values or invalid_request, and nothing else', () => {
    fc.assert(
      fc.property(pairs, name, (sent, asked) => {
        try {
          const parameters = Parameters.from(sent)
          for (const each of [asked, ...parameters.names()]) {
            const value = parameters.optional(each)
            expect(sent.filter(([known]) => known === each).map(([, text]) => text)).toEqual(
              value === undefined
                ? expect.not.arrayContaining([expect.stringMatching(/./s)])
                : expect.arrayContaining([value]),
            )
          }
          parameters.assertEachOnce()
        } catch (error) {
          if (!(error instanceof OAuthError)) throw error
          expect(error.code).toBe('invalid_request')
        }
      }),
      { numRuns: 500 },
    )
  })

  test('pairs() gives back what was sent and not empty, each name in order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string()), { maxLength: 64 }), (sent) => {
        const parameters = Parameters.from(sent)
        const valuesOf = (list: readonly (readonly [string, string])[], key: string): string[] =>
          list.filter(([known, value]) => known === key && value !== '').map(([, value]) => value)
        for (const [key] of sent) expect(valuesOf(parameters.pairs(), key)).toEqual(valuesOf(sent, key))
        expect(parameters.pairs()).toHaveLength(sent.filter(([, value]) => value !== '').length)
        expect(Parameters.from(parameters.pairs()).pairs()).toEqual(parameters.pairs())
      }),
    )
  })
})

describe('scope', () => {
  test.each([
    ['nothing', undefined, []],
    ['one', 'openid', ['openid']],
    ['several, in their order', 'profile openid', ['profile', 'openid']],
    ['a repeat', 'openid email openid', ['openid', 'email']],
    ['spaces around and between', '  openid   email ', ['openid', 'email']],
    ['spaces alone', '   ', []],
    ['every sign of the grammar', "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", ["!#$%&'()*+,-./:;<=>?@[]^_`{|}~"]],
    ['names of properties', '__proto__ constructor', ['__proto__', 'constructor']],
    ['both cases, as two scopes', 'Email email', ['Email', 'email']],
  ])('reads %s', (_case, text, scopes) => {
    expect(parseScope(text)).toEqual(scopes)
  })

  test.each([
    ['a quotation mark', 'open"id'],
    ['a backslash', 'open\\id'],
    ['a newline', 'openid\nemail'],
    ['NUL', 'openid\0'],
    ['a letter beyond ASCII', 'öpenid'],
  ])('refuses %s (RFC 6749 §3.3)', (_case, text) => {
    expect(() => parseScope(text)).toThrow(refused('invalid_scope'))
    expect(() => parseScope(`email ${text}`)).toThrow(refused('invalid_scope'))
  })

  test('a list survives the wire', () => {
    const token = fc.string({ unit: fc.constantFrom(...'!#$%&()*+,-./:;=?@[]^_`{|}~azAZ09'), minLength: 1 })
    fc.assert(
      fc.property(fc.uniqueArray(token), (scopes) => {
        expect(parseScope(formatScope(scopes))).toEqual(scopes)
      }),
    )
  })

  test('any string is a list of tokens or invalid_scope', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          for (const scope of parseScope(text)) expect(scope).toMatch(/^[!-~]+$/)
        } catch (error) {
          expect(error).toEqual(refused('invalid_scope'))
        }
      }),
    )
  })

  test('what a client may not ask for is dropped, in the order asked', () => {
    expect(grantableScopes(['email', 'admin', 'openid'], ['openid', 'email'])).toEqual(['email', 'openid'])
    expect(grantableScopes([], ['openid'])).toEqual([])
    expect(() => grantableScopes(['admin', 'root'], ['openid'])).toThrow(refused('invalid_scope'))
    expect(() => grantableScopes(['__proto__'], ['openid'])).toThrow(refused('invalid_scope'))
  })

  test.each([
    ['nothing asked: everything that was granted', [], ['openid', 'email'], ['openid', 'email']],
    ['less', ['email'], ['openid', 'email'], ['email']],
    ['the same in another order', ['email', 'openid'], ['openid', 'email'], ['openid', 'email']],
    ['nothing, where nothing was granted', [], [], []],
  ])('refreshing may ask for %s', (_case, asked, granted, result) => {
    expect(narrowedScopes(asked, granted)).toEqual(result)
    expect(refreshedScopes(asked, granted)).toEqual(result)
  })

  test('a refresh gets what was granted of what it asks for', () => {
    expect(refreshedScopes(['email', 'admin'], ['openid', 'email'])).toEqual(['email'])
    expect(() => refreshedScopes(['admin', 'Email'], ['openid', 'email'])).toThrow(refused('invalid_scope'))
    expect(() => refreshedScopes(['openid'], [])).toThrow(refused('invalid_scope'))
  })

  test.each([
    ['something more', ['email', 'admin'], ['openid', 'email']],
    ['something else', ['admin'], ['openid']],
    ['anything, where nothing was granted', ['openid'], []],
    ['another case', ['Email'], ['email']],
  ])('a grant that is narrowed must not be asked for %s', (_case, asked, granted) => {
    expect(() => narrowedScopes(asked, granted)).toThrow(refused('invalid_scope'))
  })

  const scopes = fc.uniqueArray(
    fc.constantFrom(...'openid profile email orders:read orders:write x'.split(' ')),
  )

  test('never grants more than is allowed', () => {
    fc.assert(
      fc.property(scopes, scopes, (asked, allowed) => {
        for (const rule of [grantableScopes, narrowedScopes, refreshedScopes, clientCredentialsScopes]) {
          try {
            const granted = rule(asked, allowed)
            expect(isWithinScopes(granted, allowed)).toBe(true)
            if (asked.length > 0) expect(isWithinScopes(granted, asked)).toBe(true)
          } catch (error) {
            expect(error).toEqual(refused('invalid_scope'))
            if (rule !== clientCredentialsScopes) expect(isWithinScopes(asked, allowed)).toBe(false)
          }
        }
      }),
    )
  })

  test('client credentials get what they ask for, or all that is registered', () => {
    const registered = ['openid', 'orders:read', 'orders:write', 'offline_access']
    expect(clientCredentialsScopes([], registered)).toEqual(['orders:read', 'orders:write'])
    expect(clientCredentialsScopes(['orders:write'], registered)).toEqual(['orders:write'])
  })

  test.each([
    ['one that is not registered', ['orders:read', 'admin']],
    ['openid: there is no user', ['openid']],
    ['offline_access: there is no user', ['orders:read', 'offline_access']],
  ])('client credentials are refused %s', (_case, asked) => {
    const registered = ['openid', 'orders:read', 'offline_access']
    expect(() => clientCredentialsScopes(asked, registered)).toThrow(refused('invalid_scope'))
  })
})
