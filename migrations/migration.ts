import type { Knex } from 'knex'

/** What a migration works with. */
export interface Schema {
  readonly schema: Knex.SchemaBuilder
  /** Returns a table's name with the host's prefix. */
  readonly name: (table: string) => string
  /** A condition for a partial index; MariaDB and MySQL ignore it and index every row. */
  readonly only: () => Knex.QueryBuilder
  /** How strings are compared, on MariaDB and MySQL; undefined elsewhere. */
  readonly collation: string | undefined
}

/** A migration, up and down. */
export interface SchemaChange {
  /** Makes the change. */
  up(schema: Schema): Knex.SchemaBuilder
  /** Undoes it. */
  down(schema: Schema): Knex.SchemaBuilder
}

/** Characters of a SHA-256 hash, or of 32 random bytes, in base64url. */
export const hashLength = 43

/** The collations of MariaDB, and of MySQL since 8.0.17, that compare byte for byte: 'ada ' differs from 'ada'. */
export const exactCollations = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin']

/** Makes MariaDB and MySQL compare identifiers and hashes byte for byte, as the other databases do. */
export const byteForByte = (table: Knex.CreateTableBuilder, collation: Schema['collation']): void => {
  if (collation === undefined) return
  table.charset('utf8mb4')
  table.collate(collation)
}
