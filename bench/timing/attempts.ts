import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { createBrowser } from '../load/browser.ts'
import { type Answer, expect, send } from '../load/http.ts'
import type { RunningServer } from '../processes.ts'
import { callback, clientIds, disabledPerson, password, people, scope } from '../registrations.ts'

/** Makes one attempt, checks the response, and returns the response time in microseconds. */
export type Attempt = () => Promise<number>
export type Attempts = Readonly<Record<string, Attempt>>

// A single connection, so that no attempt measures the opening of one.
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const timed = async (ask: () => Promise<Answer>, check: (answer: Answer) => void): Promise<number> => {
  const start = process.hrtime.bigint()
  const answer = await ask()
  const microseconds = Number(process.hrtime.bigint() - start) / 1000
  check(answer)
  return microseconds
}

const random = (length: number): string => randomBytes(length).toString('hex').slice(0, length)
const anyOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/** An unknown name of the same length, so that the pages have the same length too. */
const unlike = (name: string): string => random(name.indexOf('@')) + name.slice(name.indexOf('@'))

// An authorization request expires after ten minutes; the form is fetched again before that.
const formAge = 240_000

/** Fetches the sign-in form, and submits it many times. */
const signInForm = ({ base, contestant }: RunningServer) => {
  const open = async () => {
    const browser = createBrowser(agent)
    const start = new URL(contestant.paths.authorize, base)
    start.search = new URLSearchParams({
      response_type: 'code',
      client_id: clientIds.ES256,
      redirect_uri: callback,
      scope,
    }).toString()
    const stop = await browser.open(start)
    const { action, fields } = browser.formOf(stop)
    const url = new URL(action, stop.url)
    return { url, fields, headers: { cookie: browser.cookie(url) }, until: performance.now() + formAge }
  }
  let form: Awaited<ReturnType<typeof open>> | undefined
  return async (username: string, given: string): Promise<number> => {
    if (form === undefined || form.until < performance.now()) form = await open()
    const { url, headers, fields } = form
    const ask = { method: 'POST', headers, form: { ...fields, username, password: given } } as const
    return timed(
      () => send(agent, url, ask),
      (answer) =>
        expect(answer.status === 400 && answer.text.includes('name="password"'), 'a failure', answer),
    )
  }
}

/** Attempts at `POST /login`; all other kinds are compared with the first. */
export const loginAttempts = (server: RunningServer): Attempts => {
  const attempt = signInForm(server)
  const wrong = (): string => random(password.length)
  return {
    'wrong password': () => attempt(anyOf(people).email, wrong()),
    'wrong password, again': () => attempt(anyOf(people).email, wrong()),
    'unknown user': () => attempt(unlike(anyOf(people).email), wrong()),
    'disabled user, right password': () => attempt(disabledPerson.email, password),
  }
}

/** Closes the connection. */
export const closeConnection = (): void => agent.destroy()
