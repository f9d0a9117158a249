import type { Choices } from '../../protocol/choices.ts'
import {
  command,
  insertInto,
  jsonOrUndefined,
  numberOf,
  numberOrNull,
  query,
  scopesOf,
  textOf,
  textOrNull,
} from '../../storage/database/statement.ts'
import type { Database, Row } from '../../storage/database/types.ts'
import { findAll, findOne, touches } from '../../storage/repositories/statements.ts'

/** A personal access token, which a user made. Times are epoch seconds. */
export interface PersonalToken {
  /** Names it in URLs and on the command line; not a secret. */
  readonly id: string
  readonly subject: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Absent if the host had no organizations. */
  readonly organization?: string
  /** The things that it is for; absent if its scopes were about none. */
  readonly choices?: Choices
  readonly createdAt: number
  /** At most an hour old; null if it was never used. */
  readonly lastUsedAt: number | null
  readonly expiresAt: number
}

const columns = [
  'id',
  'subject',
  'name',
  'scopes',
  'organization',
  'choices',
  'created_at',
  'last_used_at',
  'expires_at',
]

const tokenOf = (row: Row): PersonalToken => {
  const organization = textOrNull(row, 'organization')
  const choices = jsonOrUndefined<Choices>(row, 'choices')
  return {
    id: textOf(row, 'id'),
    subject: textOf(row, 'subject'),
    name: textOf(row, 'name'),
    scopes: scopesOf(row),
    ...(organization !== null && { organization }),
    ...(choices && { choices }),
    createdAt: numberOf(row, 'created_at'),
    lastUsedAt: numberOrNull(row, 'last_used_at'),
    expiresAt: numberOf(row, 'expires_at'),
  }
}

/** A token by its hash. The caller checks its expiry. */
export const findPersonalToken = findOne(
  query<{ hash: string }>((table, v) => table('personal_tokens').select(columns).where({ hash: v.hash })),
  tokenOf,
)

const byId = query<{ id: string }>((table, v) => table('personal_tokens').select(columns).where({ id: v.id }))

/** A token of any user by its id. */
export const findPersonalTokenById = async (
  db: Database,
  values: { id: string },
): Promise<PersonalToken | undefined> => {
  const [row] = await byId(db, values)
  return row && textOf(row, 'id') === values.id ? tokenOf(row) : undefined
}

const ofSubject = query<{ subject: string }>((table, v) =>
  table('personal_tokens')
    .select([...columns, 'slot'])
    .where({ subject: v.subject })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'asc' },
    ]),
)

/** The tokens of a user that are not removed, the newest first; also expired ones. */
export const listPersonalTokens = findAll(ofSubject, tokenOf)

/** The numbers that the tokens of a user have. */
export const listPersonalTokenSlots = findAll(ofSubject, (row) => numberOf(row, 'slot'))

const insert = insertInto('personal_tokens')

export interface NewPersonalToken extends Omit<PersonalToken, 'createdAt' | 'lastUsedAt'> {
  readonly hash: string
  readonly slot: number
  readonly now: number
}

/** @throws OAuthError whose cause is a unique violation if the slot is taken */
export const createPersonalToken = (db: Database, token: NewPersonalToken): Promise<number> =>
  insert(db, {
    hash: token.hash,
    id: token.id,
    subject: token.subject,
    slot: token.slot,
    name: token.name,
    scopes: token.scopes.join(' '),
    organization: token.organization ?? null,
    choices: token.choices ? JSON.stringify(token.choices) : null,
    created_at: token.now,
    expires_at: token.expiresAt,
  })

/** Stores that a token was used, unless that is stored for a time after `before`. */
export const touchPersonalToken = command<{ id: string; now: number; before: number }>((table, v) =>
  table('personal_tokens')
    .where({ id: v.id })
    .where((either) => either.whereNull('last_used_at').orWhere('last_used_at', '<=', v.before))
    .update({ last_used_at: v.now }),
)

/** Removes one token of a user. Returns whether this call removed it. */
export const removePersonalToken = touches(
  command<{ id: string; subject: string }>((table, v) =>
    table('personal_tokens').where({ id: v.id, subject: v.subject }).delete(),
  ),
)

/** Removes all tokens of a user. */
export const removePersonalTokensOfSubject = command<{ subject: string }>((table, v) =>
  table('personal_tokens').where({ subject: v.subject }).delete(),
)

/** Removes the expired tokens of a user, so that they do not count. */
export const removeEndedPersonalTokens = command<{ subject: string; now: number }>((table, v) =>
  table('personal_tokens').where({ subject: v.subject }).where('expires_at', '<=', v.now).delete(),
)

/** A personal access token in the export of its user. */
export type PersonalTokenExport = Omit<PersonalToken, 'subject'>

/** The part of `oauth.users.export()` about a user's personal access tokens. */
export const exportPersonalTokens = async (
  db: Database,
  subject: string,
): Promise<{ readonly personalTokens?: readonly PersonalTokenExport[] }> => {
  const tokens = (await listPersonalTokens(db, { subject })).map(({ subject: _, ...token }) => token)
  return tokens.length === 0 ? {} : { personalTokens: tokens }
}
