import { setMembers } from '../../lib/protocol/json.ts'

test('what others get has the members that are set, and a member named __proto__ changes nothing', () => {
  const claims: Record<string, unknown> = JSON.parse(
    '{ "zero": 0, "none": null, "__proto__": { "admin": true } }',
  )
  const set = setMembers<Record<string, unknown>>({ ...claims, absent: undefined })
  expect(Object.keys(set)).toEqual(['zero', 'none'])
  expect(set.admin).toBeUndefined()
})
