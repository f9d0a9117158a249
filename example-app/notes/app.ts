import { join } from 'node:path'
import express, { type ErrorRequestHandler } from 'express'
import helmet from 'helmet'
import { authRouter } from 'latchkey' // Latchkey
import latchkeyConfig from '../latchkey.config.ts' // Latchkey
import { mcp } from './mcp.ts'
import { listNotes, readNote, writeNote } from './notes.ts'
import { messagePage } from './pages.ts'
import { pages } from './routes.ts'
import { session } from './session.ts'
import { mcpUrl } from './settings.ts'

export const app = express()

// The example uses plain http on localhost, so requests must not be upgraded to https.
app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }))
app.use(express.static(join(import.meta.dirname, 'public')))
app.use(session)

// Latchkey begins. Notes added only these lines and the two marked imports, 14 lines in total.
export const oauth = authRouter(latchkeyConfig)
app.use('/oauth', oauth)
app.use(oauth.wellKnown)
app.get('/healthz', oauth.health)
app.get('/api/notes', oauth.requireToken('notes:read'), async (req, res) => {
  res.json({ notes: await listNotes(Number(req.auth.subject)) })
})
app.post('/api/notes', oauth.requireToken('notes:write'), express.json(), async (req, res) => {
  const note = readNote(req.body)
  if (note.problem) return void res.status(422).json({ error: 'invalid_note', message: note.problem })
  res.status(201).json(await writeNote(Number(req.auth.subject), note))
})
// Latchkey ends.

// An MCP server with the same notes, and with access tokens of its own.
app.all('/mcp', oauth.requireToken('notes:read', { resource: mcpUrl }), mcp)

app.use(pages())

app.use((_req, res) => {
  res.status(404).send(messagePage('Not found', 'There is no such page.'))
})

const showError: ErrorRequestHandler = (error, _req, res, next) => {
  console.error(error)
  if (res.headersSent) return next(error)
  res.status(500).send(messagePage('Something went wrong', 'It has been written down. Please try again.'))
}
app.use(showError)
