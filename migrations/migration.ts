import type { Knex } from 'knex'

/** What a step of the schema works with. */
export interface Schema {
  readonly schema: Knex.SchemaBuilder
  /** Puts the host's prefix before a table's name. */
  readonly name: (table: string) => string
  /** Knex's name of the database driver. */
  readonly driver: string
}

/** A step of the schema, and the way back. */
export interface SchemaChange {
  up(schema: Schema): Knex.SchemaBuilder
  down(schema: Schema): Knex.SchemaBuilder
}

/** A SHA-256, or 32 random bytes, in base64url. */
export const hashLength = 43

/** Identifiers and hashes compare byte for byte on MariaDB and MySQL too; the other databases do so anyway. */
export const byteForByte = (driver: string, table: Knex.CreateTableBuilder): void => {
  if (driver !== 'mysql2') return
  table.charset('utf8mb4')
  table.collate('utf8mb4_bin')
}
