import { isUserMapping } from '../../options/users.ts'
import { type Check, type Found, type StoredSubject, warning } from '../../tools/check.ts'
import { secondFactorColumns } from '../../users/user-columns.ts'

/** Our own login page asks for a password only, unless the host says what else a user needs. */
const secondFactorFindings = async ({ options, hostKnex }: StoredSubject): Promise<Found> => {
  const { login, users, features } = options
  if (users === undefined || !isUserMapping(users)) return undefined
  if (login.url !== undefined || login.secondFactor || features.authenticatorApps) return undefined
  const found = secondFactorColumns(Object.keys(await hostKnex(users.table).columnInfo()))
  return (
    found.length > 0 &&
    warning(
      `${users.table} has ${found.join(', ')}, but the login page asks for a password only`,
      "set login.secondFactor, or let your own login page sign users in: login: { url: '/sign-in', current: … }",
    )
  )
}

/** Checks of `latchkey doctor`. */
export const checks: readonly Check<StoredSubject>[] = [
  { id: 'second-factor', title: 'no second factor is left out', run: secondFactorFindings },
]
