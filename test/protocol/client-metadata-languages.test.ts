import { clientName } from '../../lib/protocol/clients/client.ts'
import { parseClientMetadata, parseRegistration } from '../../lib/protocol/clients/client-metadata.ts'
import { inLanguage } from '../../lib/protocol/clients/client-metadata-languages.ts'
import { OAuthError } from '../../lib/protocol/errors.ts'

const parse = (more: Record<string, unknown>) =>
  parseClientMetadata({ redirect_uris: ['https://client.example.com/callback'], ...more })
const refusal = (more: Record<string, unknown>): unknown => {
  try {
    return parse(more)
  } catch (error) {
    return error
  }
}

describe('members in a language (RFC 7591 §2.2)', () => {
  test('are kept under their canonical tag, beside the plain ones', () => {
    const metadata = parse({
      client_name: 'Desk',
      'client_name#DE': 'Schalter',
      'client_name#pt-br': 'Balcão',
      'policy_uri#fr': 'https://client.example.com/vie-privee',
      'tos_uri#de-at': 'https://client.example.com/agb',
    })
    expect(metadata).toMatchObject({
      client_name: 'Desk',
      'client_name#de': 'Schalter',
      'client_name#pt-BR': 'Balcão',
      'policy_uri#fr': 'https://client.example.com/vie-privee',
      'tos_uri#de-AT': 'https://client.example.com/agb',
    })
    expect(Object.keys(metadata)).not.toContain('client_name#DE')
  })

  test.each([
    [{ 'client_name#de': '' }, 'client_name#de must be a string'],
    [{ 'client_name#de': 'Desk\u202e' }, 'client_name#de must not contain control or direction characters'],
    [{ 'policy_uri#de': 'http://client.example.com' }, 'policy_uri#de must be an https URL'],
    [
      { 'policy_uri#de': 'https://bank.example@evil.example' },
      'policy_uri#de must not contain user information',
    ],
    [{ 'tos_uri#de': 'javascript:alert(1)' }, 'tos_uri#de must be an https URL'],
    [{ 'client_name#': 'x' }, 'client_name# must end with a language tag, such as client_name#de'],
    [{ 'client_name#de_AT': 'x' }, 'client_name#de_AT must end with a language tag'],
    [{ 'client_name#de#fr': 'x' }, 'client_name#de#fr must end with a language tag'],
    [{ 'client_name#__proto__': 'x' }, 'client_name#__proto__ must end with a language tag'],
    [
      { [`client_name#de-${'x'.repeat(33)}`]: 'x' },
      `client_name#de-${'x'.repeat(33)} must end with a language tag`,
    ],
    [{ 'redirect_uris#de': [] }, 'redirect_uris#de is not client metadata'],
    [{ 'scope#de': 'openid' }, 'scope#de is not client metadata'],
    [{ '#de': 'x' }, '#de is not client metadata'],
    [{ 'client_name#de': 'x', 'client_name#DE': 'y' }, 'client_name#de appears twice, in different cases'],
  ])('are checked like the plain ones: %j', (more, message) => {
    const error = refusal(more)
    expect(error).toBeInstanceOf(OAuthError)
    expect(error).toMatchObject({ code: 'invalid_client_metadata' })
    expect(String(error)).toContain(message)
  })

  test('are read only up to 35 characters, because a long tag would take a second (H4)', () => {
    const read = jest.spyOn(Intl, 'getCanonicalLocales')
    // The longest that is read: 35 characters.
    const longest = 'de-a-abcdefgh-abcdefgh-abcdefgh-abc'
    expect(parse({ [`client_name#${longest}`]: 'x' })).toMatchObject({ [`client_name#${longest}`]: 'x' })
    expect(read).toHaveBeenCalled()
    read.mockClear()
    const long = {
      [`client_name#de-a-${'abcdefgh-'.repeat(7000)}abc`]: 'x',
      [`client_name#${longest}d`]: 'x',
    }
    expect(refusal(long)).toBeInstanceOf(OAuthError)
    const described = { client_name: 'x', redirect_uris: ['https://client.example.com/callback'], ...long }
    expect(Object.keys(parseRegistration(described)).filter((name) => name.includes('#'))).toEqual([])
    expect(read).not.toHaveBeenCalled()
    read.mockRestore()
  })

  test('are at most a hundred, counted before any is read (H4)', () => {
    const read = jest.spyOn(Intl, 'getCanonicalLocales')
    const members = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`client_name#de-x-${index}`, 'x']))
    expect(Object.keys(parse(members(100))).filter((name) => name.includes('#'))).toHaveLength(100)
    read.mockClear()
    for (const count of [101, 2400]) {
      const refused = { code: 'invalid_client_metadata', message: expect.stringContaining('languages') }
      expect(refusal(members(count))).toMatchObject(refused)
      expect(() => parseRegistration(members(count))).toThrow(OAuthError)
    }
    expect(read).not.toHaveBeenCalled()
    read.mockRestore()
  })

  test('are chosen by the language of the page; the plain one is for all others', () => {
    const metadata = parse({
      client_name: 'Desk',
      'client_name#de': 'Schalter',
      'tos_uri#fr': 'https://a.example/fr',
    })
    expect(inLanguage(metadata, 'client_name', 'de-AT')).toBe('Schalter')
    expect(inLanguage(metadata, 'client_name', 'fr')).toBe('Desk')
    expect(inLanguage(metadata, 'client_name', undefined)).toBe('Desk')
    expect(inLanguage(metadata, 'tos_uri', 'de')).toBeUndefined()
    expect(inLanguage(metadata, 'tos_uri', 'fr')).toBe('https://a.example/fr')
    const client = { clientId: 'desk', secretHashes: [], disabledAt: null }
    expect(clientName({ ...client, metadata }, 'de')).toBe('Schalter')
    expect(clientName({ ...client, metadata: parse({}) }, 'de')).toBe('desk')
  })
})
