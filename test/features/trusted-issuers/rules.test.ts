import { assertedLogin, isAssertedId } from '../../../lib/features/trusted-issuers/rules.ts'

test('what an assertion says is stored and looked up only if every database can do so (M19)', () => {
  expect(['1', 1, 'ada@example.com'].map(isAssertedId)).toEqual([true, true, true])
  expect(['', 'a\u0000', 'a\ud800', undefined].map(isAssertedId)).toEqual([false, false, false, false])
  expect(assertedLogin({ amr: ['pwd', 'a\u0000', 'a\ud800', 7] }, 1)).toMatchObject({ amr: ['pwd'] })
})
