import type { UserFunctions } from '../../lib/options/users.ts'
import { askedFor } from './asked-claims.ts'
import { observed, req, sqlite } from './observed-users.ts'

describe("the host's functions", () => {
  const ada = { id: 5, username: 'ada', team: 'engines' }
  const users = (functions: Partial<UserFunctions>) =>
    observed(sqlite(), { find: () => undefined, authenticate: () => undefined, ...functions }).users

  test('are asked, with the request, and what they return is the user', async () => {
    const authenticate = jest.fn(async () => ada)
    const asked = users({ authenticate, find: (id) => (id === '5' ? ada : undefined) })
    const user = await asked.authenticate('ada', 'secret', req)
    expect(user).toEqual({ subject: '5', username: 'ada', record: ada })
    expect(authenticate).toHaveBeenCalledWith({ username: 'ada', password: 'secret', req })
    await expect(asked.find('5')).resolves.toEqual(user)
    await expect(asked.find('6')).resolves.toBeUndefined()
  })

  test('keep their this', async () => {
    class Directory implements UserFunctions {
      readonly #people = [ada]
      find(id: string) {
        return this.#people.find((person) => String(person.id) === id)
      }
      authenticate() {
        return this.#people[0]
      }
      claims() {
        return { team: this.#people[0]?.team, nothing: null, zero: 0 }
      }
    }
    const asked = observed(sqlite(), new Directory()).users
    const user = await asked.find('5')
    await expect(asked.claims(user!, askedFor([]))).resolves.toEqual({ team: 'engines', zero: 0 })
  })

  test.each([
    ['email', { id: 'x', email: 'ada@example.com', name: 'Ada' }, 'ada@example.com'],
    ['name', { id: 'x', name: 'Ada' }, 'Ada'],
    ['subject', { id: 'x', username: 7 }, 'x'],
  ])('without a username the pages show the %s', async (_name, record, shown) => {
    await expect(users({ find: () => record }).find('x')).resolves.toMatchObject({ username: shown })
  })

  test.each([undefined, null, false])('may return %p for no user', async (returned) => {
    const answer = (() => returned) as () => undefined
    const asked = users({ find: answer, authenticate: answer })
    await expect(asked.find('5')).resolves.toBeUndefined()
    await expect(asked.authenticate('ada', 'secret', req)).resolves.toBeUndefined()
  })

  const ids = ['', null, Number.NaN, 1.5, {}, 'x'.repeat(256), 'a\0', 'zoë', 'a\tb'].map((id) => ({ id }))
  test.each([true, '5', {}, ...ids])('may not say %j', async (answer) => {
    const authenticate = (() => answer) as unknown as UserFunctions['authenticate']
    const asking = users({ authenticate }).authenticate('ada', 'secret', req)
    await expect(asking).rejects.toThrow(/users\.authenticate (must )?return/)
  })

  test.each([
    ['pg', { code: '22P05' }],
    ['mysql2', { code: 'ER_CANT_AGGREGATE_2COLLATIONS' }],
    ['an ORM', { cause: { code: 'ER_CANT_AGGREGATE_NCOLLATIONS' } }],
  ])('a character that their database lacks, as %s reports it, is a wrong password', async (_name, error) => {
    const authenticate = () => Promise.reject(Object.assign(new Error('no such character'), error))
    await expect(users({ authenticate }).authenticate('ada😀', 'secret', req)).resolves.toBeUndefined()
  })

  test('a find that returns another user finds none', async () => {
    await expect(users({ find: () => ada }).find('5abc')).resolves.toBeUndefined()
  })

  test('are not asked about what is no login name or no password', async () => {
    const authenticate = jest.fn(() => ada)
    const find = jest.fn(() => ada)
    const asked = users({ authenticate, find })
    for (const name of ['', 'a\0', 'x'.repeat(256)])
      await expect(asked.authenticate(name, 'secret', req)).resolves.toBeUndefined()
    for (const password of ['', 'a\0', 'x'.repeat(1025)])
      await expect(asked.authenticate('ada', password, req)).resolves.toBeUndefined()
    await expect(asked.find('a\0')).resolves.toBeUndefined()
    expect([authenticate.mock.calls.length, find.mock.calls.length]).toEqual([0, 0])
  })

  test('their errors are server errors; claims must be an object', async () => {
    const cause = Object.assign(new Error('no such entry'), { status: 404 })
    const broken = () => {
      throw cause
    }
    const failed = (name: string) =>
      expect.objectContaining({ message: `latchkey: users.${name} failed`, cause })
    const asked = users({ find: broken, authenticate: broken, claims: (() => []) as never })
    await expect(asked.find('5')).rejects.toEqual(failed('find'))
    await expect(asked.authenticate('ada', 'secret', req)).rejects.toEqual(failed('authenticate'))
    const user = { subject: '5', username: 'ada', record: ada }
    await expect(asked.claims(user, askedFor([]))).rejects.toThrow('users.claims')
    await expect(users({}).claims(user, askedFor([]))).resolves.toEqual({})
  })
})
