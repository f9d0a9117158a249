import { assertNames, assertRecord, assertType, refuse } from './check.ts'
import type { UserFunctions, UserMapping } from './options.ts'

/** True for the mapping form, false for the function form. */
export const isUserMapping = (users: UserMapping | UserFunctions): users is UserMapping => 'table' in users

const mappingNames = ['table', 'columns', 'claims', 'isActive', 'verify', 'rehash']
const functionNames = ['find', 'authenticate', 'claims']

/**
 * Checks the option `users` in either form.
 *
 * @throws OptionsError
 */
export const assertUsers = (users: UserMapping | UserFunctions): UserMapping | UserFunctions => {
  assertRecord('users', users)
  assertNames('users.', users, [...mappingNames, ...functionNames])
  if (isUserMapping(users)) assertMapping(users)
  else assertFunctions(users)
  return users
}

const assertMapping = (users: UserMapping): void => {
  assertNames('users.', users, mappingNames)
  if (typeof users.table !== 'string' || users.table === '') {
    refuse('users.table is required: the name of the table')
  }
  assertRecord('users.columns', users.columns)
  assertNames('users.columns.', users.columns, ['id', 'username', 'password'])
  for (const name of ['id', 'username', 'password'] as const) {
    if (typeof users.columns[name] !== 'string')
      refuse(`users.columns.${name} is required: the name of a column`)
  }
  if (users.claims !== undefined) {
    assertRecord('users.claims', users.claims)
    for (const [name, claim] of Object.entries(users.claims)) {
      if (typeof claim !== 'string' && typeof claim !== 'function') {
        refuse(`users.claims.${name} must be the name of a column or a function of the row`)
      }
    }
  }
  assertType('users.isActive', users.isActive, 'function')
  assertType('users.verify', users.verify, 'function')
  assertType('users.rehash', users.rehash, 'function')
}

const assertFunctions = (users: UserFunctions): void => {
  if (typeof users.find !== 'function' || typeof users.authenticate !== 'function') {
    refuse('users must have a table and columns, or the functions find and authenticate')
  }
  assertNames('users.', users, functionNames)
  assertType('users.claims', users.claims, 'function')
}
