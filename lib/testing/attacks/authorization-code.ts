import type { Attack } from '../attack.ts'
import { errorIn } from '../flow.ts'
import { described } from '../outcome.ts'
import { asClient, isAlive, newCode, redemption, tokensIn } from '../tokens.ts'

/** Each of these is tried with a code that stays good, so that the last, honest one must succeed. */
const bound: Attack = {
  name: 'a code with the wrong verifier or redirect URI',
  source: 'RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 9700 §2.1.1',
  expected:
    'invalid_grant, or invalid_request where something is missing; then the honest client gets its tokens',
  remedy: 'Let nothing before the router complete or rewrite form bodies.',
  run: async (target) => {
    const granted = await newCode(target, target.signedIn())
    const { redirectUri, verifier } = granted.request
    const attempts: Record<string, Record<string, string | undefined>> = {
      'no code_verifier': { code_verifier: undefined },
      'another code_verifier': { code_verifier: [...verifier].reverse().join('') },
      'the challenge as code_verifier': { code_verifier: verifier.slice(0, 42) },
      'no redirect_uri': { redirect_uri: undefined },
      'redirect_uri with a slash behind': { redirect_uri: `${redirectUri}/` },
      'a foreign redirect_uri': { redirect_uri: 'https://attacker.example/callback' },
    }
    const deviations: string[] = []
    for (const [what, changes] of Object.entries(attempts)) {
      const answer = await asClient(target, '/token', redemption(granted, changes))
      if (!['invalid_grant', 'invalid_request'].includes(errorIn(answer))) {
        deviations.push(`${what}: ${described(answer)}`)
      }
    }
    const honest = await asClient(target, '/token', redemption(granted))
    return honest.status === 200 ? deviations : [...deviations, `the honest client: ${described(honest)}`]
  },
}

const once: Attack = {
  name: 'a code used twice',
  source: 'RFC 6749 §4.1.2 and §10.5, RFC 9700 §4.5',
  expected: 'invalid_grant, and the tokens of the first use end',
  remedy: 'Let no cache or retrying proxy answer for POST /token, and give all processes one database.',
  run: async (target) => {
    const granted = await newCode(target, target.signedIn())
    const { accessToken } = tokensIn(await asClient(target, '/token', redemption(granted)))
    const again = await asClient(target, '/token', redemption(granted))
    const deviations = errorIn(again) === 'invalid_grant' ? [] : [`the second time: ${described(again)}`]
    return (await isAlive(target, accessToken))
      ? [...deviations, 'the first access token is still alive']
      : deviations
  },
}

const atOnce: Attack = {
  name: 'a code used ten times at once',
  source: 'RFC 6749 §4.1.2, RFC 9700 §4.5',
  expected: 'one success at the most, and no token that lives on',
  remedy: 'Give all processes one database, and route no request to a replica that lags behind.',
  run: async (target) => {
    const granted = await newCode(target, target.signedIn())
    const attempts = Array.from({ length: 10 }, () => asClient(target, '/token', redemption(granted)))
    const successes = (await Promise.all(attempts)).filter(({ status }) => status === 200)
    const deviations = successes.length > 1 ? [`${successes.length} of ten succeeded`] : []
    for (const success of successes) {
      if (await isAlive(target, tokensIn(success).accessToken)) deviations.push('an access token lives on')
    }
    return deviations
  },
}

export const authorizationCodeAttacks = [bound, once, atOnce]
