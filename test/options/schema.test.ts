import {
  callback,
  custom,
  either,
  explicit,
  feature,
  flag,
  kept,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  required,
  type Schema,
  seconds,
  text,
  withDefault,
} from '../../lib/options/schema.ts'

// The functions that schemas are made of.

const of = (schema: Schema) => (value?: unknown) => schema.check(value, 'it')

test.each<[string, Schema, unknown, unknown]>([
  ['a flag', flag(true), false, true],
  ['a text', text(), 'a', undefined],
  ['a number', number(), 1, undefined],
  ['seconds', seconds(60, { max: 90 }), 90, 60],
  ['one of two', oneOf('a', 'b'), 'b', undefined],
  ['a list', list(text()), ['a'], undefined],
  ['a default', withDefault('b', text()), 'a', 'b'],
  ['a record', record(text()), { x: 'a' }, {}],
  ['an object', object({ a: text() }), { a: 'a' }, {}],
  ['an object that may be absent', optional(object({ a: text() })), { a: 'a' }, undefined],
  ['a value with a written undefined refused', explicit(text()), 'a', undefined],
])('%s accepts a right value, and has a default', (_what, schema, right, absent) => {
  expect([of(schema)(right), of(schema)()]).toEqual([right, absent])
})

test.each<[Schema, unknown, string]>([
  [flag(true), 'yes', 'it must be true or false'],
  [text('a name'), '', 'it must be a name'],
  [number({ min: 2, max: 3 }), 4, 'it must be a whole number, from 2 to 3'],
  [number(), 1.5, 'it must be a whole number, at least 1'],
  [seconds(60), 0, 'it must be a whole number of seconds, at least 1'],
  [oneOf('a', 'b', 'c'), 'd', "it must be 'a', 'b' or 'c'"],
  [callback(), {}, 'it must be a function'],
  [list(text('a name')), ['a', 5], 'it[1] must be a name'],
  [list(text('a name')), ['a', undefined], 'it[1] is required: a name'],
  [list(text(), { what: 'a list of names', min: 1 }), [], 'it must be a list of names'],
  [record(text('a name')), { x: 5 }, "it['x'] must be a name"],
  [record(text()), [], 'it must be an object'],
  [required(text('a name')), undefined, 'it is required: a name'],
  [
    object({ a: object({ bee: text() }) }),
    { a: { be: '' } },
    'it.a.be is not an option; did you mean it.a.bee?',
  ],
  [object({ a: object({ bee: text() }) }), { bee: '' }, 'it.bee is not an option; did you mean it.a.bee?'],
  [object({ a: required(text('a name')) }), {}, 'it.a is required: a name'],
  [object({ a: explicit(text('a name')) }), { a: undefined }, 'it.a must be a name'],
  [
    either(flag(true), (value) => typeof value === 'boolean', object({})),
    5,
    'it must be true, false or an object',
  ],
  [feature({ a: text() }), 'yes', 'it must be true, false or an object'],
  [feature({ a: required(text()) }), true, 'it must be false or an object with a'],
  [custom('even', (value) => (Number(value) % 2 === 0 ? value : undefined)), 3, 'it must be even'],
])('%# a wrong value is refused: %j, %j: %s', (schema, wrong, message) => {
  expect(() => of(schema)(wrong)).toThrow(`latchkey: ${message}`)
})

test('a feature is off unless it is true or an object', () => {
  const check = of(feature({ size: withDefault(3, number()) }))
  expect([check(), check(false), check(true), check({}), check({ size: 4 })]).toEqual([
    undefined,
    undefined,
    { size: 3 },
    { size: 3 },
    { size: 4 },
  ])
})

test('an object is copied, unless it is kept', () => {
  const given = { name: 'a' }
  const schema = object({ name: text() })
  expect([of(schema)(given) === given, of(kept(schema))(given) === given]).toEqual([false, true])
})
