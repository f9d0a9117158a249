import type { Attack } from '../attack.ts'
import { codeIn, grant, isAtClient, newRequest, responseOf } from '../flow.ts'
import { described } from '../outcome.ts'
import type { Target } from '../target.ts'
import { asClient, newCode, redemption, tokensIn } from '../tokens.ts'
import type { Answer } from '../wire.ts'

/** Values that a wrong decoder changes. */
const awkward = ['a b+c%20d%2Bé', '"\'<>&amp;=;#?/\\', 'ü€🙂 ', '%', `${'x'.repeat(1500)}.`, '{"a":["b"]}']

/** The flaws of an authorization response. */
const flaws = (
  target: Target,
  answer: Answer,
  expected: Readonly<Record<string, string | undefined>>,
): string[] => {
  if (!isAtClient(target, answer)) return [`no redirect to the client but ${described(answer)}`]
  const response = responseOf(target, answer)
  return Object.entries(expected).flatMap(([name, value]) => {
    const came = response.getAll(name)
    const wanted = value === undefined ? [] : [value]
    return JSON.stringify(came) === JSON.stringify(wanted)
      ? []
      : [`${name} was ${JSON.stringify(wanted)} and became ${JSON.stringify(came)}`]
  })
}

const stateAndIssuer: Attack = {
  name: 'state and iss in answers to the client',
  source: 'RFC 6749 §4.1.2, RFC 9207 §2, RFC 9700 §4.4',
  expected: 'state once and unchanged, iss once, and code and error never together',
  remedy: 'Do not rewrite queries or Location headers before or after the router.',
  run: async (target) => {
    const deviations: string[] = []
    for (const state of awkward) {
      const answer = await grant(target, target.signedIn(), newRequest(target, { state }))
      deviations.push(...flaws(target, answer, { state, iss: target.issuer, error: undefined }))
    }
    const [state] = awkward
    const silent = await target.browser().open(newRequest(target, { state, prompt: 'none' }).url)
    const expected = { state, iss: target.issuer, error: 'login_required', code: undefined }
    return [...deviations, ...flaws(target, silent, expected)]
  },
}

const nonce: Attack = {
  name: 'the nonce in the ID token',
  source: 'OpenID Connect Core §3.1.3.7, §15.5.2',
  expected: 'exactly the nonce of the request',
  remedy: 'Do not rewrite queries before the router.',
  run: async (target) => {
    const [value] = awkward
    const request = newRequest(target, { nonce: value })
    const granted = await newCode(target, target.signedIn(), request)
    const { idToken } = tokensIn(await asClient(target, '/token', redemption(granted)))
    if (idToken === undefined) return { skipped: 'the client does not ask for openid' }
    const claims = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString())
    return claims.nonce === value ? [] : [`${JSON.stringify(value)} became ${JSON.stringify(claims.nonce)}`]
  },
}

/** If HEAD reached the handler of GET, it would use up the request or leave a code in a log. */
const head: Attack = {
  name: 'a code with HEAD, PUT or DELETE',
  source: 'RFC 6749 §3.1',
  expected: 'no redirect to the client',
  remedy: 'Do not mount a method override before the router.',
  run: async (target) => {
    const browser = target.signedIn()
    codeIn(target, await grant(target, browser))
    const deviations: string[] = []
    for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await browser.send(method, newRequest(target).url)
      if (answer.headers.location !== undefined) deviations.push(`${method}: ${described(answer)}`)
    }
    return deviations
  },
}

export const authorizationResponseAttacks = [stateAndIssuer, nonce, head]
