import type Database from 'better-sqlite3'

/** The tables of the ceiling, with no index that an operation does not need. */
export const tables = `
  CREATE TABLE clients (id TEXT PRIMARY KEY, secret_hash TEXT, metadata TEXT) WITHOUT ROWID;
  CREATE TABLE sessions (id TEXT PRIMARY KEY, user_id INTEGER) WITHOUT ROWID;
  CREATE TABLE consents (user_id INTEGER, client_id TEXT, scope TEXT, PRIMARY KEY (user_id, client_id)) WITHOUT ROWID;
  CREATE TABLE authorizations (code_hash TEXT PRIMARY KEY, details TEXT, consumed INTEGER) WITHOUT ROWID;
  CREATE TABLE access_tokens (hash TEXT PRIMARY KEY, authorization TEXT, client_id TEXT, user_id INTEGER, expires INTEGER) WITHOUT ROWID;
  CREATE TABLE refresh_tokens (hash TEXT PRIMARY KEY, authorization TEXT, expires INTEGER, consumed INTEGER) WITHOUT ROWID;`

/** Its statements, prepared once. `+?` keeps SQLite from planning a join anew for each value. */
export const statementsOn = (database: Database) => ({
  client: database.prepare('SELECT * FROM clients WHERE id = ?'),
  user: database.prepare('SELECT * FROM people WHERE id = ?'),
  userByEmail: database.prepare('SELECT id FROM people WHERE email = ?'),
  session: database.prepare('SELECT user_id FROM sessions WHERE id = ?'),
  newSession: database.prepare('INSERT INTO sessions VALUES (?, ?)'),
  consent: database.prepare('SELECT scope FROM consents WHERE user_id = ? AND client_id = ?'),
  newConsent: database.prepare('INSERT OR REPLACE INTO consents VALUES (?, ?, ?)'),
  authorization: database.prepare('SELECT * FROM authorizations WHERE code_hash = ?'),
  newAuthorization: database.prepare('INSERT INTO authorizations VALUES (?, ?, NULL)'),
  useCode: database.prepare(
    'UPDATE authorizations SET consumed = ? WHERE code_hash = ? AND consumed IS NULL',
  ),
  accessToken: database.prepare(`SELECT * FROM access_tokens AS tokens
    JOIN authorizations ON authorizations.code_hash = tokens.authorization WHERE hash = +?`),
  newAccessToken: database.prepare('INSERT INTO access_tokens VALUES (?, ?, ?, ?, ?)'),
  refreshToken: database.prepare(`SELECT * FROM refresh_tokens AS tokens
    JOIN authorizations ON authorizations.code_hash = tokens.authorization WHERE hash = +?`),
  newRefreshToken: database.prepare('INSERT INTO refresh_tokens VALUES (?, ?, ?, NULL)'),
  useRefreshToken: database.prepare(
    'UPDATE refresh_tokens SET consumed = ? WHERE hash = ? AND consumed IS NULL',
  ),
})
export type Statements = ReturnType<typeof statementsOn>
