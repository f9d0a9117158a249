import { parseBasicCredentials } from '../../lib/protocol/clients/basic-credentials.ts'
import { assertCodeVerifier, codeChallengeOf, parseCodeChallenge } from '../../lib/protocol/requests/pkce.ts'
import { fc } from '../support/property.ts'

const refused = (code: string, description: string): Error =>
  expect.objectContaining({ code, message: expect.stringContaining(description) })
const both = ['S256', 'plain'] as const
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const S256 = { method: 'S256', value: challenge } as const

describe('code_challenge', () => {
  test('is not required by the rule itself', () => {
    expect(parseCodeChallenge(undefined, undefined, both)).toBeUndefined()
  })

  test.each([
    ['S256', challenge],
    ['plain', verifier],
    ['plain', '~._-'.repeat(32)],
  ] as const)('is read with the method %s', (method, value) => {
    expect(parseCodeChallenge(value, method, both)).toEqual({ method, value })
  })

  test.each([
    ['no method, where RFC 7636 §4.3 would take plain', challenge, undefined, 'method is required'],
    ['a method without a challenge', undefined, 'S256', 'code_challenge is required'],
    ['an unknown method', challenge, 'S512', 'S256 or plain'],
    ['a method in lower case', challenge, 's256', 'S256 or plain'],
    ['a method that is a property name', challenge, 'constructor', 'S256 or plain'],
    ['S256 of 42 characters', challenge.slice(1), 'S256', 'malformed'],
    ['S256 with padding', `${challenge}=`, 'S256', 'malformed'],
    ['S256 in plain base64', challenge.replace('-', '+'), 'S256', 'malformed'],
    ['S256 with a trailing newline', `${challenge.slice(1)}\n`, 'S256', 'malformed'],
    ['S256 with signs that only plain has', `${challenge.slice(2)}.~`, 'S256', 'malformed'],
    ['plain of 42 characters', 'a'.repeat(42), 'plain', 'malformed'],
    ['plain of 129 characters', 'a'.repeat(129), 'plain', 'malformed'],
    ['plain with a reserved sign', `${'a'.repeat(43)}+`, 'plain', 'malformed'],
  ])('refuses %s', (_case, value, method, reason) => {
    expect(() => parseCodeChallenge(value, method, both)).toThrow(refused('invalid_request', reason))
  })

  test('plain is refused by a server that takes S256 alone', () => {
    expect(() => parseCodeChallenge(verifier, 'plain', ['S256'])).toThrow(
      refused('invalid_request', 'code_challenge_method must be S256'),
    )
    expect(parseCodeChallenge(challenge, 'S256', ['S256'])).toEqual(S256)
  })
})

describe('code_verifier', () => {
  test('of RFC 7636 Appendix B verifies', () => {
    expect(codeChallengeOf(verifier, 'S256')).toBe(challenge)
    expect(() => assertCodeVerifier(verifier, S256)).not.toThrow()
  })

  test.each(both)('of 43 and of 128 characters verifies with %s', (method) => {
    for (const length of [43, 128]) {
      const each = '~'.repeat(length)
      expect(() => assertCodeVerifier(each, { method, value: codeChallengeOf(each, method) })).not.toThrow()
    }
  })

  test.each(both)('of 42 and of 129 characters is refused with %s, even where it would fit', (method) => {
    for (const length of [0, 42, 129]) {
      const each = 'a'.repeat(length)
      expect(() => assertCodeVerifier(each, { method, value: codeChallengeOf(each, method) })).toThrow(
        refused('invalid_grant', '43 to 128'),
      )
    }
  })

  test.each([
    ['missing', undefined, 'required'],
    ['another', `${verifier.slice(1)}A`, 'does not match'],
    ['the challenge itself', challenge, 'does not match'],
    ['with a newline', `${verifier}\n`, '43 to 128'],
    ['beyond ASCII', `${verifier}é`, '43 to 128'],
  ])('is refused when it is %s (RFC 7636 §4.6)', (_case, presented, reason) => {
    expect(() => assertCodeVerifier(presented, S256)).toThrow(refused('invalid_grant', reason))
  })

  test('is refused where the code was asked for without PKCE: the downgrade of RFC 9700 §4.8.2', () => {
    const verifying = () => assertCodeVerifier(verifier, undefined)
    expect(verifying).toThrow(refused('invalid_grant', 'no code_challenge'))
    expect(() => assertCodeVerifier(undefined, undefined)).not.toThrow()
  })

  test('only the verifier of the challenge verifies', () => {
    const unreserved = [...'ABCXYZabcxyz0189-._~']
    const verifiers = fc.string({ unit: fc.constantFrom(...unreserved), minLength: 43, maxLength: 128 })
    fc.assert(
      fc.property(
        verifiers,
        fc.oneof(verifiers, fc.string({ unit: 'binary' })),
        fc.nat(127),
        fc.constantFrom(...both),
        (right, other, at, method) => {
          const stored = parseCodeChallenge(codeChallengeOf(right, method), method, both)
          expect(() => assertCodeVerifier(right, stored)).not.toThrow()
          const position = at % right.length
          const near = `${right.slice(0, position)}${right[position] === 'A' ? 'B' : 'A'}${right.slice(position + 1)}`
          for (const wrong of [other, near, right.slice(1), `${right}A`]) {
            if (wrong === right) continue
            expect(() => assertCodeVerifier(wrong, stored)).toThrow(refused('invalid_grant', 'code_verifier'))
          }
        },
      ),
    )
  })
})

describe('Basic credentials', () => {
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
  // RFC 6749 Appendix B: each part as URLSearchParams encodes it.
  const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)

  test('RFC 6749 §2.3.1: the example of the standard', () => {
    expect(parseBasicCredentials('Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3')).toEqual({
      clientId: 's6BhdRkqt3',
      clientSecrets: ['7Fjfp0ZBr1KtDRbnfVdmIw'],
    })
  })

  test('RFC 6749 Appendix B: a space is a plus, and the euro sign six escapes', () => {
    expect(parseBasicCredentials(basic('id:+%25%26%2B%C2%A3%E2%82%AC'))).toEqual({
      clientId: 'id',
      clientSecrets: ['+%25%26%2B%C2%A3%E2%82%AC', ' %&+£€'],
    })
  })

  test.each([
    ['a scheme in capitals', `BASIC ${Buffer.from('a:b').toString('base64')}`, 'a', 'b'],
    ['several spaces after the scheme', `basic   ${Buffer.from('a:b').toString('base64')}`, 'a', 'b'],
    ['no padding', 'Basic YTpi', 'a', 'b'],
    ['a colon in the secret', basic('a:b:c'), 'a', 'b:c'],
    ['an encoded colon in the id', basic('https%3A%2F%2Fa:b'), 'https://a', 'b'],
    ['an empty secret, which never matches one', basic('a:'), 'a', ''],
    ['a percent that escapes nothing', basic('a:%zz'), 'a', '%zz'],
  ])('are read with %s', (_case, header, clientId, clientSecret) => {
    expect(parseBasicCredentials(header)).toEqual({ clientId, clientSecrets: [clientSecret] })
  })

  test.each([
    ['another scheme', 'Bearer YTpi'],
    ['no credentials', 'Basic'],
    ['nothing', ''],
    ['a tab', 'Basic\tYTpi'],
    ['no colon', basic('ab')],
    ['an empty client_id', basic(':b')],
    ['signs outside base64', 'Basic YTp*'],
    ['base64url', 'Basic YTo-_w'],
    ['text after the padding', 'Basic YTpi==YTpi'],
    ['a list of schemes', 'Basic YTpi, Bearer x'],
  ])('are refused for %s', (_case, header) => {
    expect(parseBasicCredentials(header)).toBeUndefined()
  })

  test('any id and secret come out as they went in', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom(...':%+ &=/\0é€🗝'),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      ),
    })
    fc.assert(
      fc.property(text, text, (id, clientSecret) => {
        const parsed = parseBasicCredentials(basic(`${formEncode(id)}:${formEncode(clientSecret)}`))
        expect(parsed?.clientId).toBe(id === '' ? undefined : id)
        expect(parsed?.clientSecrets ?? [clientSecret]).toContain(clientSecret)
      }),
    )
  })

  test('a secret that the client sent as it is, is among those to compare', () => {
    fc.assert(
      fc.property(fc.string(), (secret) => {
        expect(parseBasicCredentials(basic(`a:${secret}`))?.clientSecrets).toContain(secret)
      }),
    )
  })
})
