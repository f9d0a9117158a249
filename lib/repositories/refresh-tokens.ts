import { number, numberOrNull, text, textOrNull } from '../database/row.ts'
import { command, query } from '../database/statement.ts'
import type { Database, Row } from '../database/types.ts'
import type { RefreshToken } from '../protocol/refresh-token.ts'
import { authorizationColumns, authorizationOf } from './authorizations.ts'

const refreshTokenOf = (row: Row): RefreshToken => ({
  hash: text(row, 'hash'),
  authorization: authorizationOf(row),
  expiresAt: number(row, 'expires_at'),
  consumedAt: numberOrNull(row, 'consumed_at'),
  successor: textOrNull(row, 'successor'),
})

const byHash = query<{ hash: string }>((table, v, name) =>
  table('refresh_tokens as tokens')
    .join(name('authorizations as authorizations'), 'authorizations.id', 'tokens.authorization_id')
    .leftJoin(name('logins as logins'), 'logins.sid', 'authorizations.sid')
    .select([
      'tokens.hash',
      'tokens.expires_at',
      'tokens.consumed_at',
      'tokens.successor',
      ...authorizationColumns,
    ])
    .where('tokens.hash', v.hash),
)

export const findRefreshToken = async (
  db: Database,
  values: { hash: string },
): Promise<RefreshToken | undefined> => {
  const [row] = await byHash(db, values)
  return row && refreshTokenOf(row)
}

interface NewRefreshToken {
  hash: string
  authorizationId: string
  now: number
  expiresAt: number
}

const insert = command<NewRefreshToken>((table, v) =>
  table('refresh_tokens').insert({
    hash: v.hash,
    authorization_id: v.authorizationId,
    created_at: v.now,
    expires_at: v.expiresAt,
  }),
)

export const createRefreshToken = async (db: Database, token: NewRefreshToken): Promise<void> => {
  await insert(db, token)
}

const consume = command<{ hash: string; successor: string | null; now: number }>((table, v) =>
  table('refresh_tokens')
    .where({ hash: v.hash })
    .whereNull('consumed_at')
    .update({ consumed_at: v.now, successor: v.successor }),
)

/**
 * Uses a token up and notes its successor, sealed so that only a bearer of this token can read it.
 *
 * @returns whether it was this call that did so
 */
export const consumeRefreshToken = async (
  db: Database,
  values: { hash: string; successor: string | null; now: number },
): Promise<boolean> => (await consume(db, values)) === 1

const extend = command<{ hash: string; expiresAt: number }>((table, v) =>
  table('refresh_tokens')
    .where({ hash: v.hash })
    .whereNull('consumed_at')
    .update({ expires_at: v.expiresAt }),
)

/** Starts the idle time of an unrotated token afresh. */
export const extendRefreshToken = async (
  db: Database,
  values: { hash: string; expiresAt: number },
): Promise<boolean> => (await extend(db, values)) === 1
