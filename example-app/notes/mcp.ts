import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer, requireScopes } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { listNotes, readNote, writeNote } from './notes.ts'

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })

/** Notes for one request of one user. */
const notesServer = (userId: number): McpServer => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('list_notes', { description: 'Lists your notes, newest first.' }, async () =>
    text(await listNotes(userId)),
  )
  server.registerTool(
    'create_note',
    {
      description: 'Writes a new note.',
      inputSchema: z.object({ title: z.string(), body: z.string() }),
      // A client whose token lacks the second scope asks the user for it, and calls again.
      scopeChallenge: requireScopes('notes:read', 'notes:write'),
    },
    async (input) => {
      const note = readNote(input)
      return note.problem ? { ...text(note.problem), isError: true } : text(await writeNote(userId, note))
    },
  )
  return server
}

/** The MCP server of Notes, behind a guard: it reads the user from `req.auth`. */
export const mcp = toNodeHandler(
  createMcpHandler(({ authInfo }) => {
    const { subject } = authInfo as { subject?: string } // as requireToken() set it
    return notesServer(Number(subject))
  }),
)
