import { type Check, error, type Found, type StoredSubject, warning } from '../check.ts'
import { databaseTime } from '../database/clock.ts'
import { hostTables } from '../database/open.ts'
import { schemaVersion } from '../database/schema-version.ts'
import { isSuccessorDue } from '../keys/key-schedule.ts'
import type { UserMapping } from '../options/users.ts'
import { isUserMapping } from '../options/users.ts'
import { listSigningKeys } from '../repositories/signing-keys.ts'
import { migrations } from '../schema.ts'
import { hostTable } from '../users/mapped-users.ts'
import { activityColumns } from '../users/user-columns.ts'

const mappingOf = ({ options: { users } }: StoredSubject): UserMapping | undefined =>
  users !== undefined && isUserMapping(users) ? users : undefined

const migrationFindings = async ({ database, options }: StoredSubject): Promise<Found> => {
  const { pending } = await schemaVersion(database, migrations)
  if (pending.length === 0) return undefined
  const message = `the database lacks ${pending.join(', ')}`
  // In development the server migrates when it starts.
  return (options.production ? error : warning)(message, 'run: npx latchkey migrate')
}

/** The columns of a table; empty if Knex cannot list them, as in another schema. */
const columnsOf = async ({ hostKnex }: StoredSubject, table: string): Promise<string[]> =>
  Object.keys(await hostKnex(table).columnInfo())

const userTableFindings = async (subject: StoredSubject): Promise<Found> => {
  const mapping = mappingOf(subject)
  if (mapping === undefined) return undefined
  try {
    await hostTable(mapping, hostTables(subject.database, subject.hostKnex)).assertExists()
    return undefined
  } catch (cause) {
    if (!(cause instanceof Error) || !cause.message.startsWith('latchkey: users.')) throw cause
    const [, option = ''] = /^latchkey: (users\.[\w.]+) is/.exec(cause.message) ?? []
    const columns = await columnsOf(subject, mapping.table)
    const choice = columns.length === 0 ? 'the name of your user table' : `one of: ${columns.join(', ')}`
    return error(cause.message.slice('latchkey: '.length), `set ${option} to ${choice}`)
  }
}

/** Without `isActive` every row may sign in, also that of a banned user. */
const activityFindings = async (subject: StoredSubject): Promise<Found> => {
  const mapping = mappingOf(subject)
  if (mapping === undefined || mapping.isActive !== undefined) return undefined
  const found = activityColumns(await columnsOf(subject, mapping.table)).map(({ column }) => column)
  return (
    found.length > 0 &&
    error(
      `${mapping.table} has ${found.join(', ')}, but users.isActive is not set: every user can sign in`,
      'set users.isActive to a function that returns false for users who must not sign in: docs/users.md',
    )
  )
}

/** Seconds for which the rotation of keys may be late before it is reported. */
const slack = 86_400

const keyFindings = async ({ database, options, now }: StoredSubject): Promise<Found> => {
  const keys = await listSigningKeys(database)
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))]
  const late = algorithms.filter((algorithm) =>
    isSuccessorDue(
      keys.filter((key) => key.algorithm === algorithm),
      now() - slack,
      options.lifetimes,
    ),
  )
  return (
    late.length > 0 &&
    warning(
      `the signing key for ${late.join(', ')} is older than lifetimes.signingKey, and no server has replaced it`,
      'check the log of the servers, then run: npx latchkey keys rotate',
    )
  )
}

/** Seconds by which two clocks may differ. */
export const clockTolerance = 30

const clockFindings = async ({ database, now }: StoredSubject): Promise<Found> => {
  const ahead = (await databaseTime(database)) - now()
  return (
    Math.abs(ahead) > clockTolerance &&
    warning(
      `the clock of the database is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the one here`,
      'synchronize both machines with NTP: timedatectl set-ntp true',
    )
  )
}

/** Checks of what is stored that a server makes itself when it starts. */
export const schemaChecks: readonly Check<StoredSubject>[] = [
  { id: 'migrations', title: 'every migration has run', run: migrationFindings },
  { id: 'users', title: 'the user table has the columns of the option users', run: userTableFindings },
]

/** Checks of what is stored, on a schema that is up to date. */
export const databaseChecks: readonly Check<StoredSubject>[] = [
  { id: 'inactive-users', title: 'users who are not active cannot sign in', run: activityFindings },
  { id: 'keys', title: 'signing keys are replaced in time', run: keyFindings },
  { id: 'database-clock', title: 'the clock of the database is right', run: clockFindings },
]
