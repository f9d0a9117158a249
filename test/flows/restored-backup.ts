import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '../support/host.ts'

/** Runs the statements that docs/scaling.md has for the database of a restored backup. */
export const endRestored = async ({ database: { knex, tablePrefix } }: Host): Promise<void> => {
  const page = readFileSync(join(__dirname, '../../docs/scaling.md'), 'utf8')
  const [, snippet = ''] = /^## Backups$[\s\S]*?^```sql\n([\s\S]*?)^```$/m.exec(page) ?? []
  const statements = snippet.split(';').flatMap((statement) => statement.trim() || [])
  expect(statements).toHaveLength(3)
  for (const statement of statements) await knex.raw(statement.replace('latchkey_', tablePrefix))
}
