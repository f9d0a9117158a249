import { randomInt, randomUUID } from 'node:crypto'
import type { Attack, AttackOutcome } from '../attack.ts'
import { Browser, type Sent } from '../browser.ts'
import { isLoginPage, newRequest } from '../flow.ts'
import { formWith } from '../html.ts'
import { described } from '../outcome.ts'
import type { VisitedTarget } from '../visit.ts'

/** As many as the limits allow by default. */
const usual = 5

/** Systems on which every address of 127.0.0.0/8 is this machine. Elsewhere only 127.0.0.1 is. */
const withManyAddresses = ['linux', 'win32']

/** The header of the first proxy: with another address of a client, if the host told one. */
const fromOther = (told: string): string => told.replace(/^[^,]+/, `203.0.113.${randomInt(1, 255)}`)

/**
 * A browser at an address of its own, so that its wrong passwords lock no user out, and not the next run.
 *
 * @returns undefined if this machine has no such address
 */
const stranger = ({ place }: VisitedTarget): Browser | undefined => {
  const { 'x-forwarded-for': told } = place.headers
  if (told !== undefined)
    return new Browser({ ...place, headers: { ...place.headers, 'x-forwarded-for': fromOther(told) } })
  const isPossible = place.base.hostname === '127.0.0.1' && withManyAddresses.includes(process.platform)
  const from = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`
  return isPossible ? new Browser({ ...place, from }) : undefined
}

/** Sends wrong passwords for an account that does not exist. */
const guess = async (target: VisitedTarget, headers: () => Sent['headers']): Promise<AttackOutcome> => {
  const { wrongPasswords: told, login } = target.options
  if (login) return { skipped: 'the login page is the host’s own' }
  if (told === false) return { skipped: 'wrongPasswords is false' }
  const browser = stranger(target) ?? (told === undefined ? undefined : target.browser())
  if (browser === undefined)
    return {
      skipped:
        'it would lock the only address that this machine has here; set wrongPasswords to the number that your limits allow (5 by default)',
    }
  const allowed = told ?? usual
  const username = `nobody-${randomUUID()}@attacker.example`
  const page = await browser.open(newRequest(target).url)
  const form = formWith(page.body, { username, password: '' })
  if (!isLoginPage(target, page) || form === undefined) return [`no sign-in page but ${described(page)}`]
  let answer = page
  for (let attempt = 0; attempt <= allowed; attempt += 1) {
    const fields = { ...form.fields, username, password: randomUUID() }
    // The page that says why the password was refused is behind a redirect.
    answer = await browser.follow(await browser.post(new URL(form.action, page.url).href, fields, headers()))
    if (answer.status === 429 && answer.headers['retry-after'] !== undefined) return []
  }
  return [`attempt ${allowed + 1}: ${described(answer)}`]
}

const expected = 'status 429 with Retry-After once the limit is reached, also for accounts that do not exist'

const fromHere: Attack = {
  name: 'guessing passwords',
  source: 'RFC 6749 §10.10, OWASP ASVS 5 §6.3.1',
  expected,
  remedy:
    'Keep limits.failures on; with several processes, use a store that they share. If your limits allow more than 5, set wrongPasswords to their number.',
  run: (target) => guess(target, () => ({})),
}

/** A client can send any addresses in X-Forwarded-For; an honest proxy appends the real one. */
const fromAnywhere: Attack = {
  name: 'guessing passwords from forged addresses',
  source: 'OWASP ASVS 5 §6.3.1, CWE-348',
  expected,
  remedy:
    "Trust no more proxies than you have: app.set('trust proxy', 1), never true. If you have several, give attack() the X-Forwarded-For that the last one sends, in headers.",
  run: (target) => {
    const told = fromOther(target.place.headers['x-forwarded-for'] ?? '203.0.113.7')
    const madeUp = (): string => `198.51.100.${randomInt(1, 255)}, 192.0.2.${randomInt(1, 255)}`
    return guess(target, () => ({ 'x-forwarded-for': `${madeUp()}, ${told}` }))
  },
}

/** They run last, because they may lock this address. */
export const wrongPasswordAttacks = [fromHere, fromAnywhere]
