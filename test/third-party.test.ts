import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Lock, thirdParty } from '../scripts/third-party-list.ts'

const read = (file: string): string => readFileSync(join(__dirname, '..', file), 'utf8')
const lock: Lock = JSON.parse(read('package-lock.json')).packages

test('THIRD-PARTY.md lists what npm installs; npm run docs:third-party writes it', () => {
  expect(read('THIRD-PARTY.md')).toBe(thirdParty(lock))
})

test('a dependency without a reason or a license is refused', () => {
  const root = { ...lock[''], dependencies: { ...lock['']?.dependencies, knex: '*' } }
  expect(() => thirdParty({ ...lock, '': root })).toThrow('give a reason for knex')
  const nameless = { ...lock, 'node_modules/jose': { version: '1.0.0' } }
  expect(() => thirdParty(nameless)).toThrow('node_modules/jose names no license')
})
