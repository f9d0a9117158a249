import type { AuthRouterOptions } from 'latchkey'
import { admin, clientMetadataDocuments, device, passkeys, registration } from 'latchkey/features'
import { database } from './notes/database.ts'
import { previewNotes } from './notes/notes.ts'
import { memberOf } from './notes/session.ts'
import { mcpUrl, notesUrl, secret } from './notes/settings.ts'
import { theme } from './theme/theme.ts'

const quiet = { ...console, info: () => {} }

/** One object, imported by the app (notes/app.ts), the seeds (seeds/01_clients.ts) and the CLI. */
export default {
  issuer: `${notesUrl}/oauth`,
  database,
  secrets: [secret('latchkey')],
  session: 'host',
  users: {
    table: 'users',
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    claims: { name: 'full_name', email: 'email', email_verified: (row) => row.confirmed_at !== null },
    isActive: (row) => row.disabled_at === null,
  },
  storedEvents: true,
  features: [
    // Any MCP client can connect: it describes itself, and its user allows it.
    registration(),
    clientMetadataDocuments(),
    device(),
    passkeys(), // Mira, the first demo user, looks after the clients: /oauth/admin.
    admin({ allow: ({ req }) => req.session.member?.id === 1 && 'mira' }),
  ],
  login: {
    current: ({ req }) => {
      const { member } = req.session
      return member && { subject: member.id, authTime: member.since, amr: member.amr ?? ['pwd'] }
    },
    remember: (user, { req, amr }) => {
      req.session.member = { ...memberOf(Number(user.id)), amr }
    },
  },
  scopes: {
    'notes:read': {
      description: 'Read your notes',
      group: 'read',
      preview: (user) => previewNotes(Number(user.id)),
    },
    'notes:write': { description: 'Write new notes for you', group: 'change', optional: true },
  },
  resources: { [mcpUrl]: { name: 'Notes for assistants', scopes: ['notes:read', 'notes:write'] } },
  pages: { name: 'Notes', logo: '/notes.svg' },
  ...(process.env.NOTES_THEME === '1' ? theme : {}),
  logger: process.env.LOG_LEVEL === 'warn' ? quiet : console,
} satisfies AuthRouterOptions
