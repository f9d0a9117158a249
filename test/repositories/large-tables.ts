import type { Knex } from 'knex'

/** A key like that of a row, from its number. */
const key = (name: string): string => `'${name}-' || lpad(n::text, 12, '0')`
const subject = `'u' || (n % 100000)`
/** Most rows are of a few clients, as everywhere. */
const client = `'big-' || (n % 3)`
const now = 1_700_000_000

/** What each table gets for the number `n`, and how many rows there are to one authorization. */
const rows: Readonly<Record<string, readonly [share: number, values: Readonly<Record<string, string>>]>> = {
  clients: [
    0.2,
    {
      client_id: key('c'),
      metadata: `'{"client_name":"Client ' || n || '","redirect_uris":["https://app.example.com/callback"]}'`,
      search_text: `${key('c')} || E'\\nclient ' || n`,
      created_at: `${now}`,
      updated_at: `${now}`,
    },
  ],
  client_registrations: [
    0.2,
    {
      client_id: key('c'),
      created_at: `${now} + n`,
      used_at: `case when n % 50 > 0 then ${now} + n end`,
      expires_at: `${now} + n`,
    },
  ],
  logins: [
    1,
    {
      sid: key('l'),
      subject,
      auth_time: `${now}`,
      amr: `'["pwd"]'`,
      browser_hash: key('b'),
      expires_at: `${now} + n`,
    },
  ],
  authorizations: [
    1,
    {
      id: key('a'),
      client_id: client,
      subject,
      sid: key('l'),
      scopes: `'openid'`,
      offline: 'n % 2',
      code_hash: key('h'),
      code_expires_at: `${now} + n`,
      consumed_at: `case when n % 5 > 0 then ${now} + n end`,
      created_at: `${now} + n`,
      expires_at: `${now} + n * 10`,
      request: `'{"redirectUri":"https://app.example.com/callback"}'`,
    },
  ],
  access_tokens: [
    1,
    {
      hash: key('t'),
      authorization_id: `case when n % 10 > 0 then ${key('a')} end`,
      client_id: client,
      subject,
      scopes: `'openid'`,
      created_at: `${now}`,
      expires_at: `${now} + n`,
    },
  ],
  refresh_tokens: [
    1,
    {
      hash: key('r'),
      authorization_id: key('a'),
      created_at: `${now}`,
      expires_at: `${now} + n`,
      consumed_at: `case when n % 5 > 0 then ${now} + n end`,
      successor: `case when n % 100 = 1 then 'sealed' end`,
    },
  ],
  consents: [
    1,
    {
      subject: `'u' || n`,
      client_id: client,
      scopes: `'openid'`,
      terms: `'{}'`,
      created_at: `${now}`,
      updated_at: `${now}`,
    },
  ],
  consent_receipts: [
    1,
    {
      id: key('k'),
      subject,
      client_id: client,
      authorization_id: key('a'),
      receipt: `'{}'`,
      created_at: `${now}`,
    },
  ],
  pending_requests: [
    1,
    {
      id: key('p'),
      kind: `'authorization'`,
      client_id: client,
      browser_hash: key('b'),
      request: `'{}'`,
      created_at: `${now}`,
      expires_at: `${now} + n`,
    },
  ],
  events: [
    1,
    {
      id: key('e'),
      type: `'login.succeeded'`,
      request_id: key('q'),
      subject,
      time: `${now} + n`,
      details: `'{"clientId":"big-1"}'`,
      expires_at: `${now} + n`,
    },
  ],
  webhook_deliveries: [
    1,
    {
      endpoint: `'crm'`,
      event_id: key('e'),
      lane: `'subject:u' || (n % 10000)`,
      attempt_at: `case when n % 10 > 0 then ${now} + n end`,
      dead_at: `case when n % 10 = 0 then ${now} + n end`,
      expires_at: `${now} + n`,
    },
  ],
  replays: [1, { hash: key('s'), expires_at: `${now} + n` }],
  throttles: [
    1,
    {
      key: key('x'),
      points: '1',
      expires_at: `${now} + n`,
      owner: `case when n % 10 = 0 then 'loginAccountAddress:' || ${key('x')} end`,
    },
  ],
}

/** The tables that {@link fillTables} fills. */
export const largeTables = Object.keys(rows)

/** MariaDB's words for those of PostgreSQL. */
const forMariadb = (sql: string): string => sql.replaceAll('::text', '').replaceAll("E'", "'")

/**
 * Fills tables of a database on PostgreSQL or MariaDB with so many authorizations, and gathers statistics.
 *
 * @param names all of {@link largeTables} unless it says which
 */
export const fillTables = async (
  knex: Knex,
  prefix: string,
  count: number,
  names: readonly string[] = largeTables,
): Promise<void> => {
  const isMariadb = knex.client.config.client === 'mysql2'
  if (isMariadb) await knex.raw("set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT')")
  for (const [name, [share, values]] of Object.entries(rows).filter(([each]) => names.includes(each))) {
    const columns = Object.keys(values)
    const expressions = Object.values(values).join(', ')
    const last = Math.ceil(count * share)
    const sql = isMariadb
      ? forMariadb(`select ${expressions} from (select seq as n from seq_1_to_${last}) as numbers`)
      : `select ${expressions} from generate_series(1, ${last}) as n`
    const places = columns.map(() => '??').join(', ')
    await knex.raw(`insert into ${prefix}${name} (${places}) ${sql}`, columns)
    await knex.raw(`analyze ${isMariadb ? 'table ' : ''}${prefix}${name}`)
  }
}
