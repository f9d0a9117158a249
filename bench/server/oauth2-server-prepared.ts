import type Database from 'better-sqlite3'
import type { ClientRow, CodeRow, FoundToken, Store, TokenRow, UserRow } from './oauth2-server-store.ts'

export const createTables = (database: Database): void =>
  database.exec(`
    CREATE TABLE clients (id TEXT PRIMARY KEY, secret TEXT, grants TEXT, redirect_uris TEXT);
    CREATE TABLE codes (code TEXT PRIMARY KEY, client_id TEXT, user_id INTEGER, scope TEXT, redirect_uri TEXT,
      challenge TEXT, method TEXT, expires INTEGER);
    CREATE TABLE access_tokens (token TEXT PRIMARY KEY, client_id TEXT, user_id INTEGER, scope TEXT, expires INTEGER);
    CREATE TABLE refresh_tokens (token TEXT PRIMARY KEY, client_id TEXT, user_id INTEGER, scope TEXT, expires INTEGER);`)

const statementsOn = (database: Database) => ({
  clientById: database.prepare('SELECT * FROM clients WHERE id = ?'),
  userByEmail: database.prepare('SELECT * FROM people WHERE email = ? AND disabled_at IS NULL'),
  saveCode: database.prepare('INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
  findCode: database.prepare('SELECT * FROM codes WHERE code = ?'),
  removeCode: database.prepare('DELETE FROM codes WHERE code = ?'),
  insertAccess: database.prepare('INSERT INTO access_tokens VALUES (?, ?, ?, ?, ?)'),
  insertRefresh: database.prepare('INSERT INTO refresh_tokens VALUES (?, ?, ?, ?, ?)'),
  findRefresh: database.prepare('SELECT * FROM refresh_tokens WHERE token = ?'),
  removeRefresh: database.prepare('DELETE FROM refresh_tokens WHERE token = ?'),
  findAccess: database.prepare(`
    SELECT tokens.*, people.email, people.full_name FROM access_tokens AS tokens
    LEFT JOIN people ON people.id = tokens.user_id AND people.disabled_at IS NULL WHERE token = ?`),
})

/** A store for maximum speed: each statement is prepared once and runs synchronously. */
export const preparedStore = (database: Database): Store => {
  const statements = statementsOn(database)
  const values = ({ token, client_id, user_id, scope, expires }: TokenRow) =>
    [token, client_id, user_id, scope, expires] as const
  const saveTokens = database.transaction((access: TokenRow, refresh: TokenRow | undefined) => {
    statements.insertAccess.run(...values(access))
    if (refresh !== undefined) statements.insertRefresh.run(...values(refresh))
  })
  return {
    client: (id) => statements.clientById.get(id) as ClientRow | undefined,
    user: (email) => statements.userByEmail.get(email) as UserRow | undefined,
    saveCode: (row) =>
      statements.saveCode.run(
        row.code,
        row.client_id,
        row.user_id,
        row.scope,
        row.redirect_uri,
        row.challenge,
        row.method,
        row.expires,
      ),
    code: (code) => statements.findCode.get(code) as CodeRow | undefined,
    removeCode: (code) => statements.removeCode.run(code).changes,
    saveTokens: (access, refresh) => saveTokens.immediate(access, refresh),
    accessToken: (token) => statements.findAccess.get(token) as FoundToken | undefined,
    refreshToken: (token) => statements.findRefresh.get(token) as TokenRow | undefined,
    removeRefreshToken: (token) => statements.removeRefresh.run(token).changes,
  }
}
