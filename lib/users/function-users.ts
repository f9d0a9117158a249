import type { HostUser, PasswordAttempt, UserFunctions } from '../options/users.ts'
import { isObject } from '../protocol/json.ts'
import { HostError } from '../protocol/problem.ts'
import { hasUnknownCharacter } from '../storage/database/errors.ts'
import { callHost, someCause } from './host-function.ts'
import { isPassword } from './passwords/passwords.ts'
import { definedClaims, isLookup, subjectOf, type User, type Users } from './users.ts'

/** Users that the host's functions find and authenticate. What the functions return is checked. */
export const createFunctionUsers = (functions: UserFunctions): Users => {
  const find = async (subject: string): Promise<User | undefined> => {
    if (!isLookup(subject)) return undefined
    const user = userOf('users.find', await callHost('users.find', () => functions.find(subject)))
    // A host may convert '5abc' to the number 5, which must not find user 5.
    return user?.subject === subject ? user : undefined
  }
  const recordOf = async (attempt: PasswordAttempt): Promise<unknown> => {
    try {
      return await callHost('users.authenticate', () => functions.authenticate(attempt))
    } catch (error) {
      // No user has a name that the host's database cannot hold.
      if (someCause(error, hasUnknownCharacter)) return undefined
      throw error
    }
  }
  return {
    find,
    ...(functions.claims === undefined && { claimNames: [] }),

    async authenticate(username, password, req) {
      if (!isLookup(username) || !isPassword(password)) return undefined
      const record = await recordOf({ username, password, req })
      const user = userOf('users.authenticate', record)
      // Read again by `find`: hooks then always get the same form, and the user may have been disabled during the check.
      return user && find(user.subject)
    },

    async fullName({ record: { name } }) {
      return typeof name === 'string' && name !== '' ? name : undefined
    },

    async claims({ record }, asked) {
      const claims: unknown = (await callHost('users.claims', () => functions.claims?.(record, asked))) ?? {}
      if (!isObject(claims)) {
        throw new HostError('users.claims must return an object of claims')
      }
      return definedClaims(Object.entries(claims))
    },
  }
}

const isRecord = (value: unknown): value is HostUser =>
  typeof value === 'object' && value !== null && 'id' in value

/** Hosts in JavaScript may return null or false for no user. */
const userOf = (name: string, record: unknown): User | undefined => {
  if (record === undefined || record === null || record === false) return undefined
  if (!isRecord(record)) throw new HostError(`${name} must return an object with an id, or undefined`)
  const subject = subjectOf(record.id, `the id that ${name} returns`)
  const names = [record.username, record.email, record.name]
  const username = names.find((each): each is string => typeof each === 'string' && each !== '')
  return { subject, username: username ?? subject, record }
}
