// What an app does for the libraries: it keeps what they give it in a file, opens the browser, and receives the answer.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'

const file = `${process.env.HOME}/kept.json`

const read = () => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {})
// Another process reads the old file or the new one.
const write = (change) => {
  const next = `${file}.${process.pid}`
  writeFileSync(next, JSON.stringify({ ...read(), ...change }))
  renameSync(next, file)
}

/** Listens on a free port of the loopback address. */
export const openCallback = async () => {
  let answered
  const answer = new Promise((resolve) => {
    answered = resolve
  })
  const server = createServer((req, res) => {
    res.end('You can close this window.')
    const url = new URL(req.url, 'http://127.0.0.1')
    if (url.pathname === '/callback') answered(url.searchParams)
  })
  // The port that was registered, if it is free.
  const { port: wanted = 0 } = read()
  const listen = (port) =>
    new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  await listen(wanted).catch(() => listen(0))
  const { port } = server.address()
  const redirectUrl = `http://127.0.0.1:${port}/callback`
  return { redirectUrl, answer, close: () => server.close(), port }
}

/** The provider that every library asks for. */
export const createProvider = ({ redirectUrl, port }) => ({
  redirectUrl,
  clientMetadata: {
    client_name: 'Lab',
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  },
  clientInformation: () => read().client,
  saveClientInformation: (client) => write({ client, port }),
  tokens: () => read().tokens,
  saveTokens: (tokens) => write({ tokens }),
  redirectToAuthorization: (url) => void spawn('xdg-open', [String(url)]),
  saveCodeVerifier: (verifier) => write({ verifier }),
  codeVerifier: () => read().verifier,
  invalidateCredentials: (scope) => {
    if (scope === 'all' || scope === 'client') write({ client: undefined })
    if (scope === 'all' || scope === 'tokens') write({ tokens: undefined })
  },
})

/** Runs `attempt` and, each time that the library started a login, finishes it and runs it again. */
export const withLogins = async (attempt, finish) => {
  const callback = await openCallback()
  let asked = false
  const provider = createProvider(callback)
  const open = provider.redirectToAuthorization
  provider.redirectToAuthorization = (url) => {
    asked = true
    open(url)
  }
  let waiting = callback
  try {
    for (let logins = 0; ; logins += 1) {
      asked = false
      try {
        console.log(JSON.stringify(await attempt(provider)))
        return
      } catch (error) {
        if (!asked || logins > 1) throw error
        await finish(provider, await waiting.answer)
        waiting = { answer: new Promise(() => {}) }
      }
    }
  } finally {
    callback.close()
  }
}
