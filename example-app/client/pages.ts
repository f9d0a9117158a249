import { type Html, html } from '../html.ts'
import type { Problem } from './problem.ts'
import type { SignedIn } from './sign-in.ts'
import type { Screen } from './television.ts'

const layout = (title: string, main: Html, head?: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Journal</title>
<link rel="icon" href="/journal.svg">
<link rel="stylesheet" href="/journal.css">
${head}
</head>
<body>
<header><a href="/">Journal</a></header>
<main>
${main}
</main>
<footer><a href="/privacy">Privacy</a> <a href="/tv">Television</a></footer>
</body>
</html>
`.text

/** The page for visitors. */
export const welcomePage = (): string =>
  layout(
    'Welcome',
    html`<section class="hero">
<h1>Your days, in your own words</h1>
<p>Journal puts your notes in order, one day after the other. Bring the ones you already have.</p>
<p><a class="button" href="/sign-in">Sign in with Notes</a></p>
</section>`,
  )

const times = new Set(['iat', 'exp', 'auth_time'])

const claim = (name: string, value: unknown): Html => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const time = times.has(name) && html` <small>${new Date(Number(value) * 1000).toUTCString()}</small>`
  return html`<div><dt>${name}</dt><dd>${text}${time}</dd></div>`
}

const claimList = (id: string, claims: object): Html =>
  html`<dl id="${id}">${Object.entries(claims).map(([name, value]) => claim(name, value))}</dl>`

const action = (path: string, label: string, style?: string): Html =>
  html`<form method="post" action="${path}"><button class="${style}">${label}</button></form>`

/** The result of the last action. */
export interface Outcome {
  message?: string
  notes?: { title: string; body: string }[]
}

/** The page for signed-in users: their account, what Journal may do, and the result of the last action. */
export const homePage = (signedIn: SignedIn, { message, notes }: Outcome = {}): string =>
  layout(
    'Hello',
    html`<h1>Hello, ${signedIn.userInfo.name ?? signedIn.idToken.sub}</h1>
${message && html`<p class="message" role="status">${message}</p>`}
${
  notes &&
  html`<section><h2>Your notes</h2><ul id="notes">${notes.map(
    (note) => html`<li><strong>${note.title}</strong> ${note.body}</li>`,
  )}</ul></section>`
}
<section>
<h2>Access</h2>
<dl id="access">
<div><dt>scope</dt><dd>${signedIn.scope}</dd></div>
<div><dt>access token</dt><dd>until ${new Date(signedIn.expiresAt * 1000).toUTCString()}</dd></div>
<div><dt>refresh token</dt><dd>${signedIn.refreshToken ? 'yes' : 'none'}, used ${signedIn.refreshes} times</dd></div>
</dl>
<p class="small">The tokens themselves stay on Journal’s server.</p>
<div class="actions">
${action('/notes', 'Fetch my notes')}
${action('/refresh', 'Refresh the token', 'outlined')}
${action('/sign-out', 'Sign out of Journal', 'outlined')}
</div>
</section>
<div class="columns">
<section><h2>ID token</h2><p class="small">Verified: signature, issuer, audience, nonce and times.</p>${claimList('id-token', signedIn.idToken)}</section>
<section><h2>UserInfo</h2><p class="small">Fetched with the access token.</p>${claimList('userinfo', signedIn.userInfo)}</section>
</div>`,
  )

/** An error page: the problem, what to do, and the code in small print. */
export const problemPage = (problem: Problem): string =>
  layout(
    problem.title,
    html`<section class="hero">
<h1>${problem.title}</h1>
<p>${problem.text}</p>
<p><a class="button" href="/sign-in">Sign in with Notes</a> <a class="aside" href="/">Not now</a></p>
${problem.code && html`<p class="small"><code id="error">${problem.code}</code>${problem.description && html`: ${problem.description}`}</p>`}
</section>`,
  )

/** Journal on a television: a code to type on a phone, and then the notes. It looks every three seconds what is new. */
export const televisionPage = (screen: Screen): string => {
  if (screen.show === 'code') {
    return layout(
      'Television',
      html`<section class="tv">
<div class="qr" role="img" aria-label="QR code of the same address">${screen.qrCode}</div>
<div>
<h1>Sign in with your phone</h1>
<p>Scan the picture, or open <strong>${screen.uri}</strong> and enter</p>
<p class="code" id="user-code">${screen.userCode}</p>
<p class="small"><a href="${screen.uri}?user_code=${screen.userCode}" target="_blank" rel="noopener">No phone? Open it in a new tab.</a></p>
</div>
</section>`,
      html`<meta http-equiv="refresh" content="3">`,
    )
  }
  const again = action('/tv', 'Start again', 'outlined')
  return screen.show === 'end'
    ? layout('Television', html`<section class="tv"><div><h1>${screen.reason}</h1>${again}</div></section>`)
    : layout(
        'Television',
        html`<section class="tv"><div><h1>Your notes</h1><ul id="notes">${screen.notes.map(
          (note) => html`<li><strong>${note.title}</strong> ${note.body}</li>`,
        )}</ul>${again}</div></section>`,
      )
}

/** Journal's privacy page, which the consent page links to. */
export const privacyPage = (): string =>
  layout(
    'Privacy',
    html`<section class="hero">
<h1>Privacy</h1>
<p>Journal reads your name, your email address and your notes while you use it. It keeps them in memory and forgets them when it stops.</p>
</section>`,
  )
