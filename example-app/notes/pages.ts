import { type Html, html } from '../html.ts'
import type { Note, NoteInput } from './notes.ts'
import type { User } from './users.ts'

const mark = html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="M6 4h20a2 2 0 0 1 2 2v14l-8 8H6a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z"/><path class="fold" d="M28 20h-6a2 2 0 0 0-2 2v6z"/></svg>`

const layout = (title: string, user: User | undefined, main: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Notes</title>
<link rel="icon" href="/notes.svg">
<link rel="stylesheet" href="/notes.css">
</head>
<body>
<header>
<a class="brand" href="/">${mark} Notes</a>
${
  user &&
  html`<p class="who">${user.full_name}</p>
<form method="post" action="/logout"><button class="quiet">Sign out</button></form>`
}
</header>
<main>
${main}
</main>
</body>
</html>
`.text

const problemBox = (problem: string | undefined) =>
  problem && html`<p class="problem" role="alert">${problem}</p>`

const day = (timestamp: string) =>
  new Date(`${timestamp.replace(' ', 'T')}Z`).toLocaleDateString('en-GB', { dateStyle: 'long' })

/** Notes' own sign-in page, unchanged by Latchkey. */
export const loginPage = (email = '', problem?: string): string =>
  layout(
    problem ? 'Error: Sign in' : 'Sign in',
    undefined,
    html`<section class="card">
<h1>Sign in to Notes</h1>
${problemBox(problem)}
<form method="post" action="/login">
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" value="${email}" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button>
</form>
</section>`,
  )

/** The notes of the user, newest first. */
export const listPage = (user: User, notes: Note[]): string =>
  layout(
    'Your notes',
    user,
    html`<div class="title"><h1>Your notes</h1><a class="button" href="/notes/new">New note</a></div>
${
  notes.length === 0
    ? html`<p class="empty">Nothing here yet. Write down the first thing on your mind.</p>`
    : html`<ul class="notes">${notes.map(
        (note) => html`
<li><h2>${note.title}</h2><p>${note.body}</p><time datetime="${note.created_at}">${day(note.created_at)}</time></li>`,
      )}
</ul>`
}`,
  )

/** The form for a new note. */
export const newNotePage = (user: User, note: NoteInput = { title: '', body: '' }): string =>
  layout(
    note.problem ? 'Error: New note' : 'New note',
    user,
    html`<section class="card wide">
<h1>New note</h1>
${problemBox(note.problem)}
<form method="post" action="/notes">
<label for="title">Title</label>
<input id="title" name="title" maxlength="120" value="${note.title}" required>
<label for="body">Text</label>
<textarea id="body" name="body" rows="8" maxlength="10000">${note.body}</textarea>
<div class="actions"><button>Save</button><a href="/">Cancel</a></div>
</form>
</section>`,
  )

/** A page with a message, such as not found or an error. */
export const messagePage = (title: string, text: string): string =>
  layout(
    title,
    undefined,
    html`<section class="card"><h1>${title}</h1><p>${text}</p><p><a href="/">Your notes</a></p></section>`,
  )
