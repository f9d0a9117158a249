import { randomBytes, randomUUID } from 'node:crypto'
import { isUnpredictable } from '../../lib/protocol/entropy.ts'
import { fc } from '../support/property.ts'

test.each([
  ['nothing', ''],
  ['one letter', 'x'.repeat(64)],
  ['a word that repeats', 'changeme'.repeat(4)],
  ['a word that repeats and breaks off', 'password1234'.repeat(3).slice(0, 34)],
  ['all digits in a row, three times', '0123456789'.repeat(4)],
  ['two letters in any order', 'abbabaabbaababbabaababbaabbabaab'],
])('not random is %s', (_, secret) => {
  expect(isUnpredictable(secret)).toBe(false)
})

test.each([
  ['hexadecimal', () => randomBytes(16).toString('hex')],
  ['base64', () => randomBytes(24).toString('base64')],
  ['a UUID', () => randomUUID()],
])('random %s is accepted', (_, create) => {
  for (let times = 0; times < 100; times += 1) {
    const secret = create()
    expect({ secret, accepted: isUnpredictable(secret) }).toEqual({ secret, accepted: true })
  }
})

test('to repeat a secret makes it no better', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 60 }), fc.integer({ min: 2, max: 5 }), (part, times) =>
      expect(isUnpredictable(part.repeat(times))).toBe(isUnpredictable(part)),
    ),
  )
})
