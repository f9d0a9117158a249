import type { Knex } from 'knex'
import { setMembers } from '../../protocol/json.ts'
import {
  command,
  jsonOrUndefined,
  numberOf,
  query,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findAll } from '../../storage/repositories/statements.ts'
import { type AppLimit, type AppOutcome, type AppRule, everyApp, unverifiedApps } from './rules.ts'

/** The most rules of an organization that its pages read. */
export const mostRules = 2000

const columns = ['app', 'outcome', 'words', 'most', 'decided_at', 'decided_by']

const ruleOf = (row: Row): AppRule =>
  setMembers({
    app: textOf(row, 'app'),
    outcome: textOf(row, 'outcome') as AppOutcome,
    words: textOrNull(row, 'words') ?? undefined,
    most: jsonOrUndefined<AppLimit>(row, 'most'),
    decidedAt: numberOf(row, 'decided_at'),
    decidedBy: textOrNull(row, 'decided_by') ?? undefined,
  })

/** The rules of an organization that can hold for an app, at most three. */
export const findAppRules = findAll(
  query<{ organization: string; app: string }>((table, v) =>
    table('organization_app_rules')
      .select(columns)
      .where({ organization: v.organization })
      .whereIn('app', [v.app, everyApp, unverifiedApps] as Knex.Value[]),
  ),
  ruleOf,
)

/** The rules of an organization, at most {@link mostRules}. */
export const listAppRules = findAll(
  query<{ organization: string }>((table, v) =>
    table('organization_app_rules')
      .select(columns)
      .where({ organization: v.organization })
      .orderBy('app')
      .limit(mostRules, { skipBinding: true }),
  ),
  ruleOf,
)

type Values = Record<'organization' | 'app' | 'outcome' | 'words' | 'most' | 'decidedBy', string | null> & {
  readonly decidedAt: number
}

const inserting = (
  table: (name: string) => Knex.QueryBuilder,
  v: Readonly<Record<keyof Values, Knex.Value>>,
) =>
  table('organization_app_rules')
    .insert({
      organization: v.organization,
      app: v.app,
      outcome: v.outcome,
      words: v.words,
      most: v.most,
      decided_at: v.decidedAt,
      decided_by: v.decidedBy,
    })
    .onConflict(['organization', 'app'])

const set = command<Values>((table, v) => inserting(table, v).merge())
const keep = command<Values>((table, v) => inserting(table, v).ignore())

const valuesOf = (organization: string, { words, most, decidedBy, ...rule }: AppRule): Values => ({
  ...rule,
  organization,
  words: words ?? null,
  most: most === undefined ? null : JSON.stringify(most),
  decidedBy: decidedBy ?? null,
})

/** Stores a rule in the place of the one about the same app. */
export const setAppRule = (db: Database, organization: string, rule: AppRule): Promise<number> =>
  set(db, valuesOf(organization, rule))

/** Stores a rule about an app that has none. */
export const keepAppRule = (db: Database, organization: string, rule: AppRule): Promise<number> =>
  keep(db, valuesOf(organization, rule))

/** Removes the rule about an app. */
export const removeAppRule = command<{ organization: string; app: string }>((table, v) =>
  table('organization_app_rules').where({ organization: v.organization, app: v.app }).delete(),
)

/** Removes every rule of an organization. */
export const removeAppRules = command<{ organization: string }>((table, v) =>
  table('organization_app_rules').where({ organization: v.organization }).delete(),
)

/** Removes the rules about a client that is gone. */
export const removeRulesAbout = command<{ app: string }>((table, v) =>
  table('organization_app_rules').where({ app: v.app }).delete(),
)

/** Forgets who decided. */
export const forgetDecider = command<{ subject: string }>((table, v) =>
  table('organization_app_rules').where({ decided_by: v.subject }).update({ decided_by: null }),
)
