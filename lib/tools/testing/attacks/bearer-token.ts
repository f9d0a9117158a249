import type { Attack, AttackOutcome } from '../attack.ts'
import { described, wrongAnswers } from '../outcome.ts'
import { callApi, newCode, newTokens, program, withToken } from '../tokens.ts'
import type { VisitedTarget } from '../visit.ts'
import type { Answer } from '../wire.ts'

const isUnauthorized = ({ status }: Answer): boolean => status === 400 || status === 401

/** Values that are not access tokens, and access tokens in the wrong place. */
const misused = async (target: VisitedTarget, path: string): Promise<Record<string, Answer>> => {
  const { accessToken, refreshToken, idToken } = await newTokens(target, target.signedIn())
  const { code } = await newCode(target, target.signedIn())
  const others = { 'an authorization code': code, 'a refresh token': refreshToken, 'an ID token': idToken }
  const answers: Record<string, Answer> = {
    'no token': await callApi(target, path),
    'the token in the query': await callApi(target, `${path}?access_token=${accessToken}`),
    'the token as a cookie': await callApi(target, path, { cookie: `access_token=${accessToken}` }),
    'the token with Basic': await callApi(target, path, { authorization: `Basic ${accessToken}` }),
    'a forged token': await withToken(target, path, `lk_at_${'A'.repeat(43)}`),
  }
  for (const [what, value] of Object.entries(others)) {
    if (value !== undefined) answers[what] = await withToken(target, path, value)
  }
  return answers
}

const source = 'RFC 6750 §2.3, §3.1 and §5.3, RFC 9700 §4.3.2'

const userinfo: Attack = {
  name: 'userinfo without an access token in the header',
  source,
  expected: 'status 401 or 400 for everything that is not an access token, and for a token in the URL',
  remedy: 'Do not copy a token from the query or a cookie into the Authorization header.',
  run: async (target): Promise<AttackOutcome> => {
    const path = '/userinfo'
    const { accessToken } = await newTokens(target, target.signedIn())
    const good = await withToken(target, target.path(path), accessToken)
    if (good.status === 403) return { skipped: 'the client does not ask for openid' }
    if (good.status !== 200) return [`the honest client: ${described(good)}`]
    const posted = await program(target, `${path}?access_token=${accessToken}`, {})
    const answers = await misused(target, target.path(path))
    return wrongAnswers({ ...answers, 'the token in the query of a POST': posted }, isUnauthorized)
  },
}

const api: Attack = {
  name: 'the API of the host without an access token in the header',
  source,
  expected: 'status 401 or 400 for everything that is not an access token, and for a token in the URL',
  remedy:
    'Put requireToken() before the handler of that route, and do not copy tokens into the Authorization header.',
  run: async (target) => {
    const path = target.options.api
    if (path === undefined) return { skipped: 'set api to the path of a route behind requireToken()' }
    const { accessToken } = await newTokens(target, target.signedIn())
    const good = await withToken(target, path, accessToken)
    const isReached = good.status < 400 || good.status === 403
    const honest = isReached ? [] : [`the honest client: ${described(good)}`]
    return [...honest, ...wrongAnswers(await misused(target, path), isUnauthorized)]
  },
}

export const bearerTokenAttacks = [userinfo, api]
