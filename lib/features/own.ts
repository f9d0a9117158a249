// The parts for a feature in a host's own file: docs/feature-of-your-own.md. None of them is frozen before 1.0.

import { flag, list, number, object, oneOf, required, seconds, text, withDefault } from '../options/schema.ts'
import {
  command,
  insertInto,
  numberOf,
  numberOrNull,
  query,
  textOf,
  textOrNull,
} from '../storage/database/statement.ts'
import { removeFrom } from '../storage/repositories/pruning/expired.ts'
import { findAll, findOne, isInserted } from '../storage/repositories/statements.ts'

export { byteForByte, type Schema as TableSchema, type SchemaChange } from '../../migrations/migration.ts'
export type { EventDescription } from '../events/description.ts'
export type { UserData } from '../oauth/authorization-server.ts'
export { accountModel } from '../web/endpoints/account/account-pages.ts'
export { accountPage } from '../web/endpoints/signed-page.ts'
export { sendJson } from '../web/http/send.ts'
export type { AccountPageModel } from '../web/pages/account-page-model.ts'
export type { PageForm } from '../web/pages/page-parts.ts'
export {
  type ActiveFeature,
  defineFeature,
  type FeatureDefinition,
  type FeatureStorage,
  type FeatureTexts,
} from './feature.ts'

/**
 * Schemas of options. Each says what an option must be, and its default.
 *
 * @experimental not frozen before 1.0
 * @example const members = { version: schema.required(schema.text()), days: schema.withDefault(30, schema.number({ max: 365 })) }
 */
export const schema = { flag, list, number, object, oneOf, required, seconds, text, withDefault }

/**
 * Statements on the tables of a feature, for every database, built once and prepared once per connection; what reads columns
 * of a row; and what removes expired rows.
 *
 * @experimental not frozen before 1.0
 * @example const remove = sql.command<{ subject: string }>((table, v) => table('notes').where({ subject: v.subject }).delete())
 */
export const sql = {
  command,
  query,
  insertInto,
  findAll,
  findOne,
  isInserted,
  removeFrom,
  numberOf,
  numberOrNull,
  textOf,
  textOrNull,
}
