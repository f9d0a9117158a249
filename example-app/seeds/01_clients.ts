import type { Knex } from 'knex'
import { migrate, seedClients } from 'latchkey'
import latchkeyConfig from '../latchkey.config.ts'
import { journalUrls, secret } from '../notes/settings.ts'

/** The clients of Notes. You can run this again: existing clients are updated. */
export const seed = async (knex: Knex): Promise<void> => {
  await migrate(knex, latchkeyConfig)
  await seedClients(
    knex,
    [
      {
        client_id: 'journal',
        client_name: 'Journal',
        client_secret: secret('journal'),
        logo: new URL('../client/public/journal.png', import.meta.url),
        client_uri: journalUrls.at(-1),
        initiate_login_uri: `${journalUrls.at(-1)}/sign-in`,
        policy_uri: `${journalUrls.at(-1)}/privacy`,
        redirect_uris: journalUrls.map((url) => `${url}/callback`),
        grant_types: ['authorization_code', 'refresh_token'],
        scope: 'openid profile email offline_access notes:read notes:write',
      },
      {
        client_id: 'journal-tv',
        client_name: 'Journal on TV',
        token_endpoint_auth_method: 'none',
        logo: new URL('../client/public/journal.png', import.meta.url),
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        scope: 'openid offline_access notes:read',
      },
    ],
    latchkeyConfig,
  )
}
