import { createTotpSecret, totpUri, verifyTotp } from '../../lib/keys/totp.ts'

/** The secret of RFC 6238 Appendix B, `12345678901234567890`. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

test.each([
  [59, '287082', 1],
  [1_111_111_109, '081804', 37_037_036],
  [1_111_111_111, '050471', 37_037_037],
  [1_234_567_890, '005924', 41_152_263],
  [2_000_000_000, '279037', 66_666_666],
  [20_000_000_000, '353130', 666_666_666],
])('RFC 6238 Appendix B: at %s the code is %s', (now, code, step) => {
  expect(verifyTotp(secret, code, { now })).toBe(step)
  expect(verifyTotp(secret, ` ${code.slice(0, 3)} ${code.slice(3)} `, { now })).toBe(step)
})

test.each([
  ['two steps before', -60, undefined],
  ['one step before', -30, 66_666_666],
  ['one step after', 30, 66_666_666],
  ['two steps after', 60, undefined],
])('a clock that is %s', (_case, seconds, step) => {
  expect(verifyTotp(secret, '279037', { now: 2_000_000_000 + seconds })).toBe(step)
})

test.each([
  ['the last one', 66_666_666, undefined],
  ['a later one', 66_666_667, undefined],
  ['an earlier one', 66_666_665, 66_666_666],
])('after the code of %s was used', (_case, after, step) => {
  expect(verifyTotp(secret, '279037', { now: 2_000_000_000, after })).toBe(step)
})

test.each(['', '27903', '2790377', '279038', 'abcdef', '٢٧٩٠٣٧'])('the code %j is wrong', (code) => {
  expect(verifyTotp(secret, code, { now: 2_000_000_000 })).toBeUndefined()
})

test('a new secret has 160 bits, and its URI is what apps read', () => {
  const fresh = createTotpSecret()
  expect(fresh).toMatch(/^[A-Z2-7]{32}$/)
  const uri = new URL(totpUri(fresh, 'Acme & Co', 'ada@example.com'))
  expect(decodeURIComponent(uri.pathname)).toMatch(/Acme & Co:ada@example.com$/)
  expect(Object.fromEntries(uri.searchParams)).toMatchObject({
    secret: fresh,
    issuer: 'Acme & Co',
    digits: '6',
  })
})
