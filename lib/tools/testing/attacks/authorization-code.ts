import type { Attack } from '../attack.ts'
import { errorIn } from '../flow.ts'
import { described, wrongWhenSent } from '../outcome.ts'
import { asClient, isAlive, newCode, redemption, tokensIn } from '../tokens.ts'

/** These attempts do not use up the code, so the honest attempt at the end must succeed. */
const bound: Attack = {
  name: 'a code with the wrong verifier or redirect URI',
  source: 'RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 9700 §2.1.1',
  expected:
    'invalid_grant, or invalid_request if something is missing; the honest client still gets its tokens',
  remedy: 'Do not complete or rewrite form bodies before the router.',
  run: async (target) => {
    const granted = await newCode(target, target.signedIn())
    const { redirectUri, verifier } = granted.request
    const attempts: Record<string, Record<string, string | undefined>> = {
      'no code_verifier': { code_verifier: undefined },
      'another code_verifier': { code_verifier: [...verifier].reverse().join('') },
      'the challenge as code_verifier': { code_verifier: verifier.slice(0, 42) },
      'neither redirect_uri nor code_verifier': { redirect_uri: undefined, code_verifier: undefined },
      'redirect_uri with a trailing slash': { redirect_uri: `${redirectUri}/` },
      'another redirect_uri': { redirect_uri: 'https://attacker.example/callback' },
    }
    const deviations = await wrongWhenSent(
      attempts,
      (changes) => asClient(target, '/token', redemption(granted, changes)),
      (answer) => ['invalid_grant', 'invalid_request'].includes(errorIn(answer)),
    )
    const honest = await asClient(target, '/token', redemption(granted))
    return honest.status === 200 ? deviations : [...deviations, `the honest client: ${described(honest)}`]
  },
}

const once: Attack = {
  name: 'a code used twice',
  source: 'RFC 6749 §4.1.2 and §10.5, RFC 9700 §4.5',
  expected: 'invalid_grant, and the tokens of the first use end',
  remedy:
    'Do not let a cache or a retrying proxy answer POST /token, and use one database for all processes.',
  run: async (target) => {
    const granted = await newCode(target, target.signedIn())
    const { accessToken } = tokensIn(await asClient(target, '/token', redemption(granted)))
    const again = await asClient(target, '/token', redemption(granted))
    const deviations = errorIn(again) === 'invalid_grant' ? [] : [`the second time: ${described(again)}`]
    return (await isAlive(target, accessToken))
      ? [...deviations, 'the first access token is still valid']
      : deviations
  },
}

const atOnce: Attack = {
  name: 'a code used ten times at once',
  source: 'RFC 6749 §4.1.2, RFC 9700 §4.5',
  expected: 'one success at most, and no token stays valid',
  remedy: 'Use one database for all processes, and do not send requests to a replica that lags behind.',
  run: async (target) => {
    const granted = await newCode(target, target.signedIn())
    const attempts = Array.from({ length: 10 }, () => asClient(target, '/token', redemption(granted)))
    const successes = (await Promise.all(attempts)).filter(({ status }) => status === 200)
    const deviations = successes.length > 1 ? [`${successes.length} of ten succeeded`] : []
    for (const success of successes) {
      if (await isAlive(target, tokensIn(success).accessToken))
        deviations.push('an access token is still valid')
    }
    return deviations
  },
}

export const authorizationCodeAttacks = [bound, once, atOnce]
