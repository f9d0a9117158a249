import type { Attack } from '../attack.ts'
import { isConsentPage, newRequest } from '../flow.ts'
import { described } from '../outcome.ts'
import type { VisitedTarget } from '../visit.ts'
import type { Answer } from '../wire.ts'

/** Latchkey's pages by name, without the host's own login page. */
export const ownPages = async (target: VisitedTarget): Promise<Record<string, Answer>> => {
  const consent = await target.signedIn().open(newRequest(target, { prompt: 'consent' }).url)
  if (!isConsentPage(consent)) throw new Error(`prompt=consent was answered with ${described(consent)}`)
  const login: Record<string, Answer> = target.options.login
    ? {}
    : { login: await target.browser().open(newRequest(target).url) }
  const error = await target.browser().get(newRequest(target, { client_id: 'nobody-registered-this' }).url)
  return { ...login, consent, error, logout: await target.browser().get(target.path('/logout')) }
}

type Policy = Readonly<Record<string, readonly string[]>>

/** Each policy of the header; all of them apply at once (Content Security Policy Level 3 §4.2). */
const policiesOf = ({ headers }: Answer): Policy[] => {
  const header = String(headers['content-security-policy'] ?? '')
  return header
    .split(',')
    .filter((policy) => policy.trim() !== '')
    .map((policy) => {
      const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/))
      return Object.fromEntries(directives.map(([name = '', ...sources]) => [name.toLowerCase(), sources]))
    })
}

/** Describes the flaw of each page that has one. */
const flawed = async (
  target: VisitedTarget,
  flawOf: (page: Answer) => string | undefined,
): Promise<string[]> =>
  Object.entries(await ownPages(target)).flatMap(([name, page]) => {
    const flaw = flawOf(page)
    return flaw === undefined ? [] : [`the ${name} page: ${flaw}`]
  })

const unchanged =
  'Do not replace or remove headers of the router’s responses, for example with a proxy rule or a hook on writeHead. An app-wide helmet before the router is fine.'

const framing: Attack = {
  name: 'the pages in a frame of another site',
  source: 'RFC 6749 §10.13, RFC 9700 §4.16',
  expected: "frame-ancestors 'none' and X-Frame-Options: DENY",
  remedy: unchanged,
  run: (target) =>
    flawed(target, (page) => {
      const forbids = policiesOf(page).some((policy) => policy['frame-ancestors']?.join() === "'none'")
      const option = page.headers['x-frame-options']
      if (forbids && String(option).toUpperCase() === 'DENY') return undefined
      return `frame-ancestors ${forbids ? "'none'" : 'missing or wider'}, X-Frame-Options ${option ?? 'missing'}`
    }),
}

const safeSource = /^'(?:none|self|nonce-[^']+|sha(?:256|384|512)-[^']+|strict-dynamic|report-sample)'$/

const scripts: Attack = {
  name: 'scripts of other origins in the pages',
  source: 'RFC 9700 §4.16, OWASP ASVS 5 §3.4.3',
  expected: 'a Content-Security-Policy that allows only scripts of this origin and no other base URI',
  remedy: unchanged,
  run: (target) =>
    flawed(target, (page) => {
      const policies = policiesOf(page)
      const isStrict = policies.some((policy) => {
        const sources = policy['script-src'] ?? policy['default-src']
        return sources?.every((source) => safeSource.test(source)) && policy['base-uri'] !== undefined
      })
      return isStrict
        ? undefined
        : `Content-Security-Policy: ${page.headers['content-security-policy'] ?? 'none'}`
    }),
}

const sniffing: Attack = {
  name: 'guessing at content types',
  source: 'OWASP ASVS 5 §3.4.4',
  expected: 'X-Content-Type-Options: nosniff',
  remedy: unchanged,
  run: (target) =>
    flawed(target, ({ headers }) =>
      headers['x-content-type-options'] === 'nosniff' ? undefined : 'no X-Content-Type-Options: nosniff',
    ),
}

const allowsForm = (policy: Policy, uri: string, own: string): boolean => {
  const sources = policy['form-action']
  if (sources === undefined) return true
  const { protocol, host, hostname, origin } = new URL(uri)
  const matching = [protocol, host, `${protocol}//${host}`, `${protocol}//${hostname}:*`]
  if (/^https?:$/.test(protocol)) matching.push('*')
  if (origin === own) matching.push("'self'")
  return sources.some((source) => matching.includes(source))
}

/** Browsers check form-action at every redirect after a POST, so Allow would seem to do nothing. */
const formAction: Attack = {
  name: 'form-action and the redirect to the client',
  source: 'Content Security Policy Level 3 §6.4.1',
  expected: 'the scheme of the redirect URI among the sources of form-action, on every page with a form',
  remedy:
    "Set no second Content-Security-Policy on these pages, and no form-action 'self' for the whole origin in a proxy.",
  run: async (target) => {
    const { redirect_uri } = target.options.client
    const { login, consent } = await ownPages(target)
    const pages = Object.entries({ login, consent })
    return pages.flatMap(([name, page]) =>
      page === undefined ||
      policiesOf(page).every((policy) => allowsForm(policy, redirect_uri, target.place.origin))
        ? []
        : [`the ${name} page: ${page.headers['content-security-policy']}`],
    )
  },
}

export const pageAttacks = [framing, scripts, sniffing, formAction]
