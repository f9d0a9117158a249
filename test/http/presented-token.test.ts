import { OAuthError } from '../../lib/protocol/errors.ts'
import { withChallenge } from '../../lib/web/http/presented-token.ts'

test('a challenge has only characters that RFC 6749 §5.2 allows', () => {
  const error = new OAuthError('invalid_token', 'schlüssel ☃ "quoted" \\\r\nx-injected: yes')
  const { headers } = withChallenge(error) as OAuthError
  expect(headers['WWW-Authenticate']).toBe(
    'Bearer realm="api", error="invalid_token", error_description="schl?ssel ? ?quoted? ???x-injected: yes"',
  )
})
