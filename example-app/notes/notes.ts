import { database } from './database.ts'

/** A row of `notes`, as pages and the API show it. */
export interface Note {
  id: number
  title: string
  body: string
  created_at: string
}

/** A note from the user, trimmed and checked. `problem` describes in one sentence what to correct. */
export type NoteInput = { title: string; body: string; problem?: string }

/** Reads a note from a form or a JSON body: a title of at most 120 characters and text of at most 10,000. */
export const readNote = (input: unknown): NoteInput => {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const title = typeof fields.title === 'string' ? fields.title.trim() : ''
  const body = typeof fields.body === 'string' ? fields.body.trim() : ''
  if (title === '') return { title, body, problem: 'Give the note a title.' }
  if (title.length > 120) return { title, body, problem: 'The title has more than 120 characters.' }
  if (body.length > 10_000) return { title, body, problem: 'The note has more than 10,000 characters.' }
  return { title, body }
}

const columns = ['id', 'title', 'body', 'created_at'] as const

/** The notes of one user, newest first. */
export const listNotes = (userId: number): Promise<Note[]> =>
  database('notes').where({ user_id: userId }).orderBy('id', 'desc').limit(100).select(columns)

/** The titles of the newest notes of one user, and how many others there are: for the consent page. */
export const previewNotes = async (userId: number): Promise<{ items: string[]; more: number }> => {
  const [counted] = await database('notes').where({ user_id: userId }).count({ count: '*' })
  const newest = await database('notes')
    .where({ user_id: userId })
    .orderBy('id', 'desc')
    .limit(3)
    .select('title')
  const items = newest.map(({ title }) => title)
  return { items, more: Math.max(0, Number(counted?.count) - items.length) }
}

/** Stores a note and returns it. */
export const writeNote = async (userId: number, note: NoteInput): Promise<Note> => {
  const [stored] = await database('notes')
    .insert({ user_id: userId, title: note.title, body: note.body })
    .returning([...columns])
  return stored
}
