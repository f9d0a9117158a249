import { definitionsOf } from '../../features/feature.ts'
import { isSuccessorDue } from '../../keys/key-schedule.ts'
import { databaseTime } from '../../storage/database/clock.ts'
import { lackOf, schemaVersion } from '../../storage/database/schema-version.ts'
import { listSigningKeys } from '../../storage/repositories/signing-keys.ts'
import { migrationsOf } from '../../storage/schema.ts'
import { type Check, error, type Found, note, type StoredSubject, warning } from '../check.ts'

const migrationFindings = async ({ database, options }: StoredSubject): Promise<Found> => {
  const { pending } = await schemaVersion(database, migrationsOf(definitionsOf(options)))
  if (pending.length === 0) return undefined
  const message = lackOf(pending)
  // In development the server migrates when it starts.
  return (options.production ? error : warning)(message, 'run: npx latchkey migrate')
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

/** A file in another mode keeps readers waiting while someone writes, which one developer does not notice. */
const journalFindings = async ({ database, hostKnex, options }: StoredSubject): Promise<Found> => {
  if (database.driver.dialect !== 'sqlite' || !options.production) return undefined
  const [row] = await hostKnex.raw('pragma journal_mode')
  const mode = String(Object.values(Object(row))[0])
  // A database in memory has no journal that another process could read.
  return (
    !['wal', 'memory', 'off'].includes(mode) &&
    note(
      `the SQLite file has journal_mode ${mode}: requests wait while another one writes`,
      "set it once, the file keeps it: await knex.raw('pragma journal_mode = WAL')",
    )
  )
}

/** Checks of the schema. */
export const schemaChecks: readonly Check<StoredSubject>[] = [
  { id: 'migrations', title: 'every migration has run', run: migrationFindings },
]

/** Checks of what is stored, on a schema that is up to date. */
export const databaseChecks: readonly Check<StoredSubject>[] = [
  { id: 'keys', title: 'signing keys are replaced in time', run: keyFindings },
  { id: 'database-clock', title: 'the clock of the database is right', run: clockFindings },
  { id: 'journal', title: 'an SQLite file lets others read while someone writes', run: journalFindings },
]
