import type { Attack } from '../attack.ts'
import { newRequest } from '../flow.ts'
import { isRefused, wrongWhenSent } from '../outcome.ts'
import type { VisitedTarget } from '../visit.ts'
import { forgedRedirectUris } from './redirect-uri-variants.ts'

const remedy =
  'Do not parse, decode, complete or rebuild the query before the router: no middleware, rewrite or gateway rule may change redirect_uri. Latchkey compares it with the registered ones as a string.'

/** Each of these URLs must be answered with a page. */
const tried = ({ browser }: VisitedTarget, urls: Readonly<Record<string, string>>): Promise<string[]> =>
  wrongWhenSent(urls, (url) => browser().get(url), isRefused)

/** Many addresses that are not the registered one. */
const forged: Attack = {
  name: 'redirect URIs that resemble the registered one',
  source: 'RFC 6749 §3.1.2.3, RFC 9700 §2.1 and §4.1',
  expected: 'a page with status 400 for each, and no redirect',
  remedy,
  run: (target) => {
    const uris = forgedRedirectUris(target.options.client)
    const urlOf = (redirect_uri: string): string => newRequest(target, { redirect_uri }).url
    return tried(target, Object.fromEntries(uris.map((uri) => [JSON.stringify(uri), urlOf(uri)])))
  },
}

/** Two addresses, none, or one with a name that some parsers treat as `redirect_uri`. */
const ambiguous: Attack = {
  name: 'redirect URIs that are repeated, missing, or in brackets',
  source: 'RFC 6749 §3.1, RFC 9700 §4.1',
  expected: 'a page with status 400 for each, and no redirect',
  remedy,
  run: async (target) => {
    const { client } = target.options
    const none = newRequest(target, { redirect_uri: undefined }).url
    const good = encodeURIComponent(client.redirect_uri)
    const bad = encodeURIComponent('https://attacker.example/')
    const queries = {
      'the registered one, then another': `redirect_uri=${good}&redirect_uri=${bad}`,
      'another, then the registered one': `redirect_uri=${bad}&redirect_uri=${good}`,
      'the registered one twice': `redirect_uri=${good}&redirect_uri=${good}`,
      'none at all': '',
      'an empty one': 'redirect_uri=',
      'redirect_uri[]': `redirect_uri[]=${good}`,
      'redirect_uri[0]': `redirect_uri[0]=${good}`,
      'encoded twice': `redirect_uri=${encodeURIComponent(good)}`,
    }
    const urls = Object.entries(queries).map(([what, query]) => [what, `${none}&${query}`])
    return tried(target, Object.fromEntries(urls))
  },
}

/** Other errors in the same request must not cause a redirect to an unverified address. */
const unverified: Attack = {
  name: 'errors that would redirect to an unregistered address',
  source: 'RFC 6749 §4.1.2.1, RFC 9700 §4.11',
  expected: 'a page with status 400 for each, and no redirect',
  remedy,
  run: async (target) => {
    const redirect_uri = 'https://attacker.example/callback'
    const { client_id } = target.options.client
    const requests: Record<string, Record<string, string | undefined>> = {
      'prompt=none with another redirect URI': { redirect_uri, prompt: 'none' },
      'another redirect URI and a wrong response_type': { redirect_uri, response_type: 'x' },
      'another redirect URI as a form post': { redirect_uri, response_mode: 'form_post', prompt: 'none' },
      'an unregistered client': { redirect_uri, client_id: 'nobody-registered-this', prompt: 'none' },
      'the client id with a trailing space': { redirect_uri, client_id: `${client_id} `, prompt: 'none' },
      'no client': { redirect_uri, client_id: undefined, prompt: 'none' },
    }
    const urls = Object.entries(requests).map(([what, changes]) => [what, newRequest(target, changes).url])
    return tried(target, Object.fromEntries(urls))
  },
}

export const redirectUriAttacks = [forged, ambiguous, unverified]
