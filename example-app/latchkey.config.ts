import type { AuthRouterOptions } from 'latchkey'
import { database } from './notes/database.ts'
import { memberOf } from './notes/session.ts'
import { mcpUrl, notesUrl, secret } from './notes/settings.ts'
import { theme } from './theme/theme.ts'

const quiet = { ...console, info: () => {} }

/** One object, imported by the app (notes/app.ts), the seeds (seeds/01_clients.ts) and the CLI. */
export default {
  issuer: `${notesUrl}/oauth`,
  database,
  secrets: [secret('latchkey')],
  tablePrefix: 'oauth_',
  session: 'host',
  users: {
    table: 'users',
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    claims: { name: 'full_name', email: 'email', email_verified: (row) => row.confirmed_at !== null },
    isActive: (row) => row.disabled_at === null,
  },
  login: {
    // Users add passkeys under Connected apps.
    passkeys: true,
    // Users who are signed in to Notes do not sign in again.
    current: ({ session: { member } }) =>
      member && { subject: member.id, authTime: member.since, amr: member.amr ?? ['pwd'] },
    // Users who sign in on the way to a client are signed in to Notes as well.
    remember: (req, _res, user, { amr }) => {
      req.session.member = { ...memberOf(Number(user.id)), amr }
    },
  },
  // Mira, the first demo user, looks after the clients: /oauth/admin.
  admin: ({ session: { member } }) => member?.id === 1 && 'mira',
  storeEvents: true,
  scopes: {
    'notes:read': { description: 'Read your notes', group: 'read' },
    'notes:write': { description: 'Write new notes for you', group: 'change', optional: true },
  },
  // Any MCP client can connect: it describes itself, and its user allows it.
  resources: { [mcpUrl]: { name: 'Notes for assistants', scopes: ['notes:read', 'notes:write'] } },
  features: { registration: true, clientMetadataDocuments: true, deviceAuthorization: true },
  branding: { name: 'Notes', logo: '/notes.svg' },
  ...(process.env.NOTES_THEME === '1' ? theme : {}),
  logger: process.env.LOG_LEVEL === 'warn' ? quiet : console,
} satisfies AuthRouterOptions
