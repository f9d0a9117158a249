import { isJwtAccessToken, parseJwtAccessToken } from '../../lib/protocol/tokens/jwt-access-token.ts'

const issuer = 'https://app.example.com/oauth'
const now = 1_800_000_000
const claims = { iss: issuer, sub: '1', client_id: 'web', iat: now - 60, exp: now + 1 }

test.each<[string, object, boolean]>([
  ['with the claims that every one has', {}, true],
  ['bound to a certificate', { cnf: { 'x5t#S256': 'a'.repeat(43) } }, true],
  ['bound to something that is not supported', { cnf: { jku: 'https://client.example.com' } }, false],
  ['bound to two things', { cnf: { jkt: 'a'.repeat(43), 'x5t#S256': 'a'.repeat(43) } }, false],
  ['of another issuer', { iss: `${issuer}/other` }, false],
  ['that expires now', { exp: now }, false],
  ['that never expires', { exp: undefined }, false],
  ['that expires at a time in words', { exp: 'tomorrow' }, false],
  ['without a time of issue', { iat: undefined }, false],
  ['without a subject', { sub: undefined }, false],
  ['without a client', { client_id: undefined }, false],
])('an access token %s', (_case, change, isValid) => {
  expect(isJwtAccessToken({ ...claims, ...change }, issuer, now)).toBe(isValid)
  expect(parseJwtAccessToken({ ...claims, ...change }, issuer, now) !== undefined).toBe(isValid)
})
