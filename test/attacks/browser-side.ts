import { callback } from '../support/host.ts'
import { claimsOf, expectErrorRedirect, type Place, pairsFor } from '../support/outcomes.ts'
import { type Answer, fieldsOf, pageOf, type RawBrowser } from '../support/raw-browser.ts'
import { ada, given, type TokenAnswer, web } from '../support/tokens.ts'
import type { Asked, Fields, Form, Target } from './target.ts'

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
  const placeOf = (place: Place): Place => ({ state: 's', iss: target().issuer, ...place })
  const code = (answer: Answer, place: Place = {}): string => {
    const pairs = pairsFor(answer, placeOf(place))
    expect(pairs).toEqual([['code', expect.stringMatching(/^lk_ac_[\w-]{43}$/)]])
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

  const expectRefusal = (answer: Answer, error: string, place: Place = {}): void =>
    expectErrorRedirect(answer, error, placeOf(place))
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
