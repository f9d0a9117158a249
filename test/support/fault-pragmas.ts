/** As Latchkey opens an SQLite file; for pools that a test opens, because an instance of the host's is left as it is. */
export const sqlitePragmas: readonly string[] = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'busy_timeout = 250',
]
