import { createHash, randomBytes } from 'node:crypto'
import type { Browser } from './browser.ts'
import { asksForPassword, formWith } from './html.ts'
import { described, textField } from './outcome.ts'
import type { Target } from './target.ts'
import { type Answer, isAnswer, withoutUndefined } from './wire.ts'

/** An authorization request of an honest client, with the values that the client keeps. */
export interface SentRequest {
  /** Path and query. */
  readonly url: string
  readonly verifier: string
  readonly redirectUri: string
}

const random = (): string => randomBytes(32).toString('base64url')

/** @param changes parameters to set, or with `undefined` to leave out */
export const newRequest = (
  target: Target,
  changes: Readonly<Record<string, string | undefined>> = {},
): SentRequest => {
  const { client_id, redirect_uri, scope = 'openid' } = target.options.client
  const verifier = random()
  const parameters = {
    response_type: 'code',
    client_id,
    redirect_uri,
    scope,
    state: random(),
    nonce: random(),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...changes,
  }
  const url = `${target.path('/authorize')}?${new URLSearchParams(withoutUndefined(parameters))}`
  return { url, verifier, redirectUri: redirect_uri }
}

/** Whether a response redirects to the client, at exactly the registered address. */
export const isAtClient = (target: Target, { headers: { location = '' } }: Answer): boolean => {
  const { redirect_uri } = target.options.client
  return location.startsWith(redirect_uri) && /^[?&#]/.test(location.slice(redirect_uri.length))
}

/** The parameters of an authorization response, each name with all its values. */
export const responseOf = (target: Target, { headers: { location = '' } }: Answer): URLSearchParams =>
  new URLSearchParams(location.slice(target.options.client.redirect_uri.length + 1))

export const isConsentPage = ({ status, body }: Answer): boolean =>
  status === 200 && formWith(body, { decision: 'allow' }) !== undefined

/** Whether a page is Latchkey's sign-in page, or that of the host's front end. */
export const isLoginPage = (target: Target, { status, url, body }: Answer): boolean =>
  status < 500 &&
  [target.path('/login'), target.options.frontEnd].includes(url.pathname) &&
  asksForPassword(body)

/** Signs in on the current page and continues the request. */
export const signIn = async (
  target: Target,
  browser: Browser,
  page: Answer,
  request: SentRequest,
): Promise<Answer> => {
  const { login, user } = target.options
  if (!login) {
    const form = formWith(page.body, { username: '', password: '' })
    // If the login is only renewed, the account is already filled in.
    return browser.submit(page, { ...user, username: form?.fields.username || user.username })
  }
  const after = await login(browser, page)
  const answer = isAnswer(after) ? await browser.follow(after) : undefined
  return answer && (isAtClient(target, answer) || isConsentPage(answer)) ? answer : browser.open(request.url)
}

/** Signs in and allows where necessary, and returns the last response. */
export const grant = async (
  target: Target,
  browser: Browser,
  request: SentRequest = newRequest(target),
): Promise<Answer> => {
  let answer = await browser.open(request.url)
  const asksHost = target.options.login !== undefined && answer.status === 200 && !isConsentPage(answer)
  if (asksHost || isLoginPage(target, answer)) answer = await signIn(target, browser, answer, request)
  if (isConsentPage(answer)) answer = await browser.submit(answer, { decision: 'allow' })
  return answer
}

/** @throws Error unless the response is a successful redirect to the client */
export const codeIn = (target: Target, answer: Answer): string => {
  const code = isAtClient(target, answer) ? responseOf(target, answer).get('code') : null
  if (code === null) throw new Error(`expected a code from ${answer.url.pathname}, got ${described(answer)}`)
  return code
}

/** Whether a user is signed in to this browser, according to `prompt=none` (OIDC Core §3.1.2.6). */
export const isSignedIn = async (target: Target, browser: Browser): Promise<boolean> => {
  const answer = await browser.open(newRequest(target, { prompt: 'none' }).url)
  if (!isAtClient(target, answer)) throw new Error(`prompt=none was answered with ${described(answer)}`)
  return responseOf(target, answer).get('error') !== 'login_required'
}

/** The id of a pending request, from the URL or the redirect. */
export const requestIdIn = ({ headers: { location = '' }, url }: Answer): string =>
  /lk_ar_[\w-]{43}/.exec(decodeURIComponent(`${location} ${url.search}`))?.[0] ?? ''

/** The code of a JSON error, or the status. */
export const errorIn = (answer: Answer): string => textField(answer, 'error') ?? String(answer.status)
