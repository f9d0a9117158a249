import { createHash, randomBytes } from 'node:crypto'
import { callback, password, scope, secret } from '../registrations.ts'
import { createBrowser, type Stop, signIn, walk } from './browser.ts'
import { type Answer, basic, expect, jsonOf, send } from './http.ts'
import { checkIdToken } from './id-token.ts'
import { clientIdOf, urlOf, type Worker } from './worker.ts'

const random = (): string => randomBytes(32).toString('base64url')

interface Request {
  readonly url: URL
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

const authorizationRequest = (worker: Worker): Request => {
  const [state, nonce, verifier] = [random(), random(), random()]
  const url = new URL(urlOf(worker, 'authorize'))
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientIdOf(worker),
    redirect_uri: callback,
    scope,
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  return { url, state, nonce, verifier }
}

/** Signs in and consents; returns the cookies of the browser. */
export const startSession = (worker: Worker): Promise<string> =>
  signIn(worker.agent, authorizationRequest(worker).url, worker.person.email, password)

/** Signs in with a new browser; returns the last response. */
export const signInAnew = (worker: Worker): Promise<Stop> =>
  walk(createBrowser(worker.agent), authorizationRequest(worker).url, worker.person.email, password)

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

/** Checks a token response. @param nonce the nonce of the authorization request, if this is its response */
export const tokensOf = (worker: Worker, answer: Parameters<typeof jsonOf>[0], nonce?: string): Tokens => {
  const body = jsonOf(answer)
  const { access_token, token_type, refresh_token, id_token, expires_in } = body
  expect(typeof access_token === 'string' && access_token.length >= 32, 'access_token', answer)
  expect(typeof refresh_token === 'string' && refresh_token.length >= 32, 'refresh_token', answer)
  expect(token_type === 'Bearer', 'token_type', answer)
  expect(Number(expires_in) > 3500, 'expires_in', answer)
  if (worker.contestant.openid) checkIdToken(worker, id_token, answer, nonce)
  return { accessToken: String(access_token), refreshToken: String(refresh_token) }
}

/** Exchanges the code in the redirect for tokens. */
const redeem = async (
  worker: Worker,
  { state, nonce, verifier }: Request,
  redirect: URL,
  answer: Answer,
): Promise<Tokens> => {
  const { searchParams } = redirect
  expect(redirect.href.startsWith(`${callback}?`), 'the redirect does not lead to the client', answer)
  expect(searchParams.get('state') === state, 'state', answer)
  const form = {
    grant_type: 'authorization_code',
    code: searchParams.get('code') ?? '',
    redirect_uri: callback,
    code_verifier: verifier,
  }
  const headers = basic(clientIdOf(worker), secret)
  const tokens = await send(worker.agent, urlOf(worker, 'token'), { method: 'POST', headers, form })
  return tokensOf(worker, tokens, nonce)
}

/** Runs the code flow with PKCE in a browser that is signed in. */
export const codeFlow = async (worker: Worker, cookie: string): Promise<Tokens> => {
  const request = authorizationRequest(worker)
  const answer = await send(worker.agent, request.url, { headers: { cookie } })
  expect(answer.status === 302 || answer.status === 303, 'status of the redirect', answer)
  return redeem(worker, request, new URL(String(answer.headers.location ?? ''), request.url), answer)
}

/** Runs the code flow with PKCE in a new browser, with sign-in page and consent page. */
export const visitOnce = async (worker: Worker): Promise<Tokens> => {
  const browser = createBrowser(worker.agent)
  const request = authorizationRequest(worker)
  const signInPage = await browser.open(request.url)
  expect(signInPage.text.includes('name="password"'), 'no sign-in page', signInPage)
  const consentPage = await browser.submit(signInPage, { username: worker.person.email, password })
  expect(consentPage.text.includes('value="allow"'), 'no consent page', consentPage)
  const end = await browser.submit(consentPage)
  return redeem(worker, request, end.url, end)
}
