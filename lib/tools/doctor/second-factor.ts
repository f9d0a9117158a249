import { featureNamed } from '../../options/features.ts'
import { isUserMapping } from '../../options/users.ts'
import { secondFactorColumns } from '../../users/user-columns.ts'
import { type Check, type Found, type StoredSubject, warning } from '../check.ts'

/** Our own login page asks for a password only, unless the host says what else a user needs. */
const secondFactorFindings = async ({ options, hostKnex }: StoredSubject): Promise<Found> => {
  const { login, users } = options
  if (users === undefined || !isUserMapping(users)) return undefined
  const isAsked = ['authenticatorApps', 'secondFactor'].some((name) => featureNamed(options, name))
  if (login.url !== undefined || isAsked) return undefined
  const found = secondFactorColumns(Object.keys(await hostKnex(users.table).columnInfo()))
  return (
    found.length > 0 &&
    warning(
      `${users.table} has ${found.join(', ')}, but the login page asks for a password only`,
      "add secondFactor() to the option features, or let your own login page sign users in: login: { url: '/sign-in', current: … }",
    )
  )
}

/** Whether a second factor of the host is left out. */
export const secondFactorCheck: Check<StoredSubject> = {
  id: 'second-factor',
  title: 'no second factor is left out',
  run: secondFactorFindings,
}
