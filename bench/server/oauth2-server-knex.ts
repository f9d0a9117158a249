import type { Knex } from 'knex'
import type { Store } from './oauth2-server-store.ts'

/** A typical model for Knex, in an app that uses Knex for its own tables. */
export const knexStore = (knex: Knex): Store => ({
  client: (id) => knex('clients').where({ id }).first(),
  user: (email) => knex('people').where({ email }).whereNull('disabled_at').first(),
  saveCode: (row) => knex('codes').insert(row),
  code: (code) => knex('codes').where({ code }).first(),
  removeCode: (code) => knex('codes').where({ code }).delete(),
  saveTokens: (access, refresh) =>
    knex.transaction(async (tx) => {
      await tx('access_tokens').insert(access)
      if (refresh !== undefined) await tx('refresh_tokens').insert(refresh)
    }),
  accessToken: (token) =>
    knex('access_tokens as tokens')
      .leftJoin('people', (join) => {
        join.on('people.id', 'tokens.user_id').andOnNull('people.disabled_at')
      })
      .where({ token })
      .first('tokens.*', 'people.email', 'people.full_name'),
  refreshToken: (token) => knex('refresh_tokens').where({ token }).first(),
  removeRefreshToken: (token) => knex('refresh_tokens').where({ token }).delete(),
})
