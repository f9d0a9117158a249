import { formatBasicCredentials } from '../../protocol/clients/basic-credentials.ts'
import type { Browser } from './browser.ts'
import { codeIn, grant, newRequest, type SentRequest } from './flow.ts'
import { described, textField } from './outcome.ts'
import type { Credentials, Target } from './target.ts'
import { type Answer, withoutUndefined } from './wire.ts'

type Fields = Readonly<Record<string, string>>

/** RFC 6749 §2.3.1 and appendix B. */
export const basicHeader = ({ client_id, client_secret = '' }: Credentials): string =>
  formatBasicCredentials(client_id, client_secret)

/** The credentials that a client adds to its requests. */
export const proof = (
  credentials: Credentials,
): { readonly headers: Readonly<Record<string, string>>; readonly fields: Fields } => {
  const { client_id, client_secret, method = 'basic' } = credentials
  if (client_secret === undefined) return { headers: {}, fields: { client_id } }
  if (method === 'post') return { headers: {}, fields: { client_id, client_secret } }
  return { headers: { authorization: basicHeader(credentials) }, fields: {} }
}

/** A POST of a program, without cookies. */
export const program = (
  target: Target,
  path: string,
  fields: Fields,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  target.browser().post(target.path(path), fields, {
    origin: undefined,
    'sec-fetch-site': undefined,
    ...headers,
  })

/** A request of an authenticated client to `/token`, `/introspect` or `/revoke`. */
export const asClient = (
  target: Target,
  path: string,
  fields: Fields,
  credentials: Credentials = target.credentials,
): Promise<Answer> => {
  const { headers, fields: proving } = proof(credentials)
  return program(target, path, { ...proving, ...fields }, headers)
}

/** A code and the values that redeem it. */
export interface GrantedCode {
  readonly code: string
  readonly request: SentRequest
}

/** A new code, from a browser that is signed in or signs in now. */
export const newCode = async (
  target: Target,
  browser: Browser,
  request: SentRequest = newRequest(target),
): Promise<GrantedCode> => ({ code: codeIn(target, await grant(target, browser, request)), request })

/** The fields with which an honest client redeems a code; `undefined` omits a field. */
export const redemption = (
  { code, request }: GrantedCode,
  changes: Readonly<Record<string, string | undefined>> = {},
): Fields =>
  withoutUndefined({
    grant_type: 'authorization_code',
    code,
    redirect_uri: request.redirectUri,
    code_verifier: request.verifier,
    ...changes,
  })

/** The tokens of a successful token response. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
}

/** @throws Error if the response is not a token response */
export const tokensIn = (answer: Answer): Tokens => {
  const accessToken = textField(answer, 'access_token')
  if (answer.status !== 200 || accessToken === undefined) {
    throw new Error(`the token endpoint answered ${described(answer)}`)
  }
  return {
    accessToken,
    refreshToken: textField(answer, 'refresh_token'),
    idToken: textField(answer, 'id_token'),
  }
}

/** Signs in, allows and redeems. */
export const newTokens = async (target: Target, browser: Browser = target.browser()): Promise<Tokens> =>
  tokensIn(await asClient(target, '/token', redemption(await newCode(target, browser))))

/** A request of a program: an API that also serves pages would lead a browser to them. */
export const callApi = (
  target: Target,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => target.browser().get(path, { accept: 'application/json', ...headers })

/** A request with an access token in the header. */
export const withToken = (target: Target, path: string, token: string): Promise<Answer> =>
  callApi(target, path, { authorization: `Bearer ${token}` })

/** Whether an access token is valid: UserInfo accepts it, or only misses the scope. */
export const isAlive = async (target: Target, accessToken: string): Promise<boolean> => {
  const { status } = await withToken(target, target.path('/userinfo'), accessToken)
  return status === 200 || status === 403
}
