import type { Knex } from 'knex'

/** What a step of the schema works with. */
export interface Schema {
  readonly schema: Knex.SchemaBuilder
  /** Puts the host's prefix before a table's name. */
  readonly name: (table: string) => string
  /** Knex's name of the database driver. */
  readonly driver: string
  /** A condition for an index that holds only some rows; MariaDB and MySQL, which have none such, index them all. */
  readonly only: () => Knex.QueryBuilder
  /** How texts are compared, where that has to be said: on MariaDB and MySQL. */
  readonly collation: string | undefined
}

/** A step of the schema, and the way back. */
export interface SchemaChange {
  up(schema: Schema): Knex.SchemaBuilder
  down(schema: Schema): Knex.SchemaBuilder
}

/** A SHA-256, or 32 random bytes, in base64url. */
export const hashLength = 43

/** Collations of MariaDB and of MySQL; the last is for MySQL before 8.0.17, to which 'ada ' is 'ada'. */
export const exactCollations = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin', 'utf8mb4_bin']

/** Identifiers and hashes compare byte for byte on MariaDB and MySQL too; the other databases do so anyway. */
export const byteForByte = (table: Knex.CreateTableBuilder, collation: Schema['collation']): void => {
  if (collation === undefined) return
  table.charset('utf8mb4')
  table.collate(collation)
}
