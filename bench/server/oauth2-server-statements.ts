import type Database from 'better-sqlite3'

export const createTables = (database: Database): void =>
  database.exec(`
    CREATE TABLE clients (id TEXT PRIMARY KEY, secret TEXT, grants TEXT, redirect_uris TEXT);
    CREATE TABLE codes (code TEXT PRIMARY KEY, client_id TEXT, user_id INTEGER, scope TEXT, redirect_uri TEXT,
      challenge TEXT, method TEXT, expires INTEGER);
    CREATE TABLE access_tokens (token TEXT PRIMARY KEY, client_id TEXT, user_id INTEGER, scope TEXT, expires INTEGER);
    CREATE TABLE refresh_tokens (token TEXT PRIMARY KEY, client_id TEXT, user_id INTEGER, scope TEXT, expires INTEGER);`)

export const statementsOn = (database: Database) => ({
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
