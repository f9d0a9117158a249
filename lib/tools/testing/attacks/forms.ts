import type { Attack, AttackOutcome } from '../attack.ts'
import type { Browser, Sent } from '../browser.ts'
import { isConsentPage, isLoginPage, isSignedIn, newRequest } from '../flow.ts'
import { type Form, formWith } from '../html.ts'
import { described, isRefused, wrongWhenSent } from '../outcome.ts'
import type { Target } from '../target.ts'
import type { Answer } from '../wire.ts'

const remedy =
  'Pass form fields and the headers Origin and Sec-Fetch-Site to the router unchanged, and do not convert other content types to forms.'

/** A form that another site or page makes the browser send. */
interface Forgery {
  readonly fields: Readonly<Record<string, string>>
  readonly headers?: Sent['headers']
}

const field = 'csrf_token'
const attacker = 'https://attacker.example'

/** The forged form, one of another request in the same browser, and one of another browser. */
type Forms<Kind> = readonly [own: Kind, foreign: Kind, distant: Kind]

const forgeriesOf = (
  [own, foreign, distant]: Forms<Form>,
  filled: Forgery['fields'],
): Record<string, Forgery> => {
  const fields = { ...own.fields, ...filled }
  const { [field]: token = '', ...without } = fields
  return {
    'without a token': { fields: without },
    'with an empty token': { fields: { ...without, [field]: '' } },
    'with the token of another request': { fields: { ...without, [field]: foreign.fields[field] ?? '' } },
    'with the token of another browser': { fields: { ...without, [field]: distant.fields[field] ?? '' } },
    'with a token cut short': { fields: { ...without, [field]: token.slice(0, -1) } },
    'by another site': { fields, headers: { 'sec-fetch-site': 'cross-site', origin: attacker } },
    'by another origin of the same site': { fields, headers: { 'sec-fetch-site': 'same-site' } },
    'by another site, in an older browser': {
      fields,
      headers: { 'sec-fetch-site': undefined, origin: attacker },
    },
  }
}

/** Sends every forged form; each must be refused. */
const forge = async (
  browser: Browser,
  pages: Forms<Answer>,
  filled: Forgery['fields'],
): Promise<string[]> => {
  const [own, foreign, distant] = pages.map(({ body }) => formWith(body, filled))
  if (own === undefined || foreign === undefined || distant === undefined) return ['a page has no form']
  const action = new URL(own.action, pages[0].url).href
  const deviations = await wrongWhenSent(
    forgeriesOf([own, foreign, distant], filled),
    ({ fields, headers }) => browser.post(action, fields, headers),
    isRefused,
  )
  const plain = Object.entries({ ...own.fields, ...filled }).map(([name, value]) => `${name}=${value}`)
  const headers = { 'content-type': 'text/plain' }
  const asText = await browser.send('POST', action, { body: plain.join('\r\n'), headers })
  return isRefused(asText) ? deviations : [...deviations, `as text/plain: ${described(asText)}`]
}

/** Opens the same page three times: twice in one browser, once in another. */
const opened = async (
  target: Target,
  [browser, other]: readonly [Browser, Browser],
  changes: Readonly<Record<string, string>> = {},
): Promise<Forms<Answer>> => [
  await browser.open(newRequest(target, changes).url),
  await browser.open(newRequest(target, changes).url),
  await other.open(newRequest(target, changes).url),
]

const login: Attack = {
  name: 'the sign-in form, forged',
  source: 'RFC 6749 §10.12, RFC 9700 §4.7',
  expected: 'each is refused with a status of 400 to 499, and no user is signed in',
  remedy,
  run: async (target): Promise<AttackOutcome> => {
    if (target.options.login) return { skipped: 'the login page is the host’s own' }
    const browser = target.browser()
    const pages = await opened(target, [browser, target.browser()])
    if (!isLoginPage(target, pages[0])) return [`no sign-in page but ${described(pages[0])}`]
    const deviations = await forge(browser, pages, target.options.user)
    const isIn = await isSignedIn(target, browser)
    return isIn ? [...deviations, 'the browser is signed in afterwards'] : deviations
  },
}

const consent: Attack = {
  name: 'the consent form, forged',
  source: 'RFC 6749 §10.12, RFC 9700 §4.7',
  expected: 'each is refused with a status of 400 to 499, and consent is still required',
  remedy,
  run: async (target) => {
    const browser = target.signedIn()
    const pages = await opened(target, [browser, target.signedIn()], { prompt: 'consent' })
    const [page] = pages
    if (!isConsentPage(page)) return [`prompt=consent was answered with ${described(page)}`]
    const deviations = await forge(browser, pages, { decision: 'allow' })
    const again = await browser.open(page.url.href)
    return isConsentPage(again) ? deviations : [...deviations, `afterwards the page is ${described(again)}`]
  },
}

export const formAttacks = [login, consent]
