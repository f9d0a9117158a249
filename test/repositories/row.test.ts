import {
  flag,
  json,
  jsonOrUndefined,
  number,
  numberOrNull,
  scopes,
  text,
  textOrNull,
} from '../../lib/database/row.ts'
import type { Row } from '../../lib/database/types.ts'

const notNull = { text, number, flag, json, scopes }
const nullable = { textOrNull, numberOrNull, jsonOrUndefined }
type Reader = (row: Row, column: string) => unknown
const readers = Object.entries<Reader>({ ...notNull, ...nullable })

test.each(readers)('%s throws for a column that the SELECT did not name', (_, read) => {
  expect(() => read({ other: 'x' }, 'subject')).toThrow('the column subject is missing')
})

test.each(Object.entries<Reader>(notNull))('%s throws for null', (_, read) => {
  expect(() => read({ subject: null }, 'subject')).toThrow('the column subject is null')
})

test.each(Object.entries<Reader>(nullable))('%s accepts null', (name, read) => {
  expect(read({ subject: null }, 'subject')).toBe(name === 'jsonOrUndefined' ? undefined : null)
})

test('values are converted from what each driver returns', () => {
  const row = { count: '17', name: 5, on: 1, off: 0, claims: '{"a":1}', scopes: 'openid  email', none: '' }
  expect(number(row, 'count')).toBe(17)
  expect(numberOrNull(row, 'count')).toBe(17)
  expect(text(row, 'name')).toBe('5')
  expect(textOrNull(row, 'none')).toBe('')
  expect([flag(row, 'on'), flag(row, 'off')]).toEqual([true, false])
  expect(json(row, 'claims')).toEqual({ a: 1 })
  expect(jsonOrUndefined(row, 'claims')).toEqual({ a: 1 })
  expect(scopes(row)).toEqual(['openid', 'email'])
  expect(scopes(row, 'none')).toEqual([])
})
