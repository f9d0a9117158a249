import { clientName } from '../../lib/protocol/clients/client.ts'
import { parseClientMetadata } from '../../lib/protocol/clients/client-metadata.ts'
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
