import { callback } from './host.ts'
import { claimsOf } from './outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser } from './raw-browser.ts'
import type { Asked, Fields, Form, Target } from './target.ts'
import { ada, given, type TokenAnswer, web } from './tokens.ts'

export type { Asked } from './target.ts'

export const evil = 'https://evil.example/'

/** Nothing is removed by itself while a test looks whether something is written. */
export const still = { database: { prune: false } }

const usual: Asked = {
  response_type: 'code',
  client_id: 'web',
  redirect_uri: callback,
  scope: 'openid',
  state: 's',
}

/** The id of the request that a page is about. */
export const requestOf = ({ url }: Answer): string => url.searchParams.get('authorization_request') ?? ''

/** The cookies of ours among those that an answer sets; an app may set its own on any of them. */
export const ownCookies = ({ setCookies }: Answer): string[] =>
  setCookies.filter((cookie) => cookie.includes('latchkey_'))

/** Where a client is answered, and with which `state`. */
export interface Place {
  readonly state?: string | undefined
  readonly redirectUri?: string | undefined
  /** The answer is in the fragment. */
  readonly fragment?: boolean
}

/** What a person's browser, or an attacker's, does at a target. */
export const browserSide = (target: () => Target) => {
  const at = (path: string, parameters?: Asked): string =>
    `${target().base}${path}${parameters === undefined ? '' : `?${new URLSearchParams(given(parameters))}`}`
  const authorizeUrl = (parameters: Asked = {}): string => at('/authorize', { ...usual, ...parameters })
  const silent = (parameters: Asked = {}): string => authorizeUrl({ prompt: 'none', ...parameters })
  const browser = (): RawBrowser => target().browser()
  const loginPage = async (parameters: Asked = {}, agent = browser()) => {
    const received = await agent.open(authorizeUrl(parameters))
    // A user who is signed in may choose an account (prompt=select_account).
    const mayChoose = pageOf(received) === '200 /select-account'
    const another = { decision: 'another' }
    const page = mayChoose ? await agent.submit(received, 'value="another"', another) : received
    expect(pageOf(page)).toBe('200 /login')
    return { agent, page, id: requestOf(page), fields: fieldsOf(page, 'name="password"') }
  }
  const consentPage = async (parameters: Asked = {}, as = ada, agent = browser()) => {
    const login = await loginPage({ prompt: 'consent', ...parameters }, agent)
    const page = await agent.signIn(login.page, as.email, as.password)
    expect(pageOf(page)).toBe('200 /consent')
    return { agent, page, id: login.id, fields: fieldsOf(page, 'value="allow"') }
  }
  /** What stands behind the redirect URI of an answer, pair by pair. */
  const answerOf = ({ headers, status, html }: Answer, place: Place): string[][] => {
    const { redirectUri = callback, fragment = false } = place
    const location = headers.location ?? `${status} ${html}`
    const start = `${redirectUri}${fragment ? '#' : redirectUri.includes('?') ? '&' : '?'}`
    expect(location.slice(0, start.length)).toBe(start)
    return [...new URLSearchParams(location.slice(start.length))]
  }
  /** `state` and `iss`, once each, as every answer has them. */
  const stateAndIssuer = (place: Place): string[][] => {
    const state = 'state' in place ? place.state : 's'
    return [...(state === undefined ? [] : [['state', state]]), ['iss', target().issuer]]
  }
  const expectUnkept = ({ status, html, headers }: Answer): void =>
    expect({ status, html, cache: headers['cache-control'] }).toEqual({
      status: 303,
      html: '',
      cache: 'no-store',
    })
  const code = (answer: Answer, place: Place = {}): string => {
    const pairs = answerOf(answer, place)
    expect(pairs).toEqual([['code', expect.stringMatching(/^lk_ac_[\w-]{43}$/)], ...stateAndIssuer(place)])
    expectUnkept(answer)
    return pairs[0]?.[1] ?? ''
  }
  const signedIn = async (as = ada, parameters: Asked = {}): Promise<RawBrowser> => {
    const agent = browser()
    const answer = await agent.grant(authorizeUrl(parameters), as.email, as.password)
    code(answer, { redirectUri: parameters.redirect_uri })
    return agent
  }
  const token = async (form: Asked): Promise<TokenAnswer & { error?: string }> =>
    JSON.parse((await target().post(at('/token'), given({ ...web, ...form }))).html)
  const redeem = (value: string, fields: Asked = {}) =>
    token({ grant_type: 'authorization_code', code: value, redirect_uri: callback, ...fields })

  /** The client hears an error: exactly one of each parameter, `iss` among them, nothing else. */
  const expectRefusal = (answer: Answer, error: string, place: Place = {}): void => {
    expect(answerOf(answer, place)).toEqual([
      ['error', error],
      ['error_description', expect.stringMatching(/^[ -~]+$/)],
      ...stateAndIssuer(place),
    ])
    expectUnkept(answer)
  }
  const subjectOf = async (agent: RawBrowser): Promise<unknown> =>
    claimsOf((await redeem(code(await agent.get(silent())))).id_token).sub

  return {
    at,
    authorizeUrl,
    silent,
    browser,
    loginPage,
    consentPage,
    /** A browser in which a person has signed in and allowed. */
    signedIn,
    /** The code of an answer that holds nothing else but `state` and `iss`. */
    code,
    redeem,
    refresh: (value: string) => token({ grant_type: 'refresh_token', refresh_token: value }),
    expectRefusal,
    /** Who is signed in is what a silent request tells. */
    subjectOf,
    expectNobody: async (agent: RawBrowser): Promise<void> =>
      expectRefusal(await agent.get(silent()), 'login_required'),
    origin: (): string => new URL(target().issuer).origin,
    /** One POST of a form, as our own page sends it. */
    post: (agent: RawBrowser, path: string, form: Form, headers?: Fields): Promise<Answer> =>
      agent.post(at(path), form, headers),
    table: (name: string) => target().table(name),
    person: (person = ada) => target().person(person),
  }
}
