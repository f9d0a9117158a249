import { OAuthError } from '../../lib/protocol/errors.ts'
import { parseAuthorizationDetails } from '../../lib/protocol/requests/authorization-details.ts'

test.each(['a\\u0000', 'a\\ud800', 'a\\u009f'])(
  'details hold no character that is not stored, as %s (M19)',
  (text) => {
    expect(parseAuthorizationDetails('[{"type":"a","list":["b"]}]')).toEqual([{ type: 'a', list: ['b'] }])
    expect(() => parseAuthorizationDetails(`[{"type":"a","list":["${text}"]}]`)).toThrow(OAuthError)
    expect(() => parseAuthorizationDetails(`[{"type":"a","${text}":1}]`)).toThrow(OAuthError)
  },
)
