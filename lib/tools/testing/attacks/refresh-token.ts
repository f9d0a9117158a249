import type { Attack } from '../attack.ts'
import { errorIn } from '../flow.ts'
import { described } from '../outcome.ts'
import type { Target } from '../target.ts'
import { asClient, isAlive, newTokens, tokensIn } from '../tokens.ts'
import type { Answer } from '../wire.ts'

const refresh = (target: Target, refresh_token: string, scope?: string): Promise<Answer> =>
  asClient(target, '/token', {
    grant_type: 'refresh_token',
    refresh_token,
    ...(scope === undefined ? {} : { scope }),
  })

const none = { skipped: 'the client gets no refresh token' }

const withoutRotation = { skipped: 'the client is registered without rotation' }

const reuse: Attack = {
  name: 'a refresh token used again',
  source: 'RFC 9700 §2.2.2 and §4.14.2',
  expected: 'a new token with every use; reuse of an old one ends all tokens of the authorization',
  remedy:
    'Do not let a cache or a retrying proxy answer POST /token, and use one database for all processes.',
  run: async (target) => {
    const { refreshToken: first } = await newTokens(target, target.signedIn())
    if (first === undefined) return none
    const second = tokensIn(await refresh(target, first)).refreshToken ?? ''
    if (second === first) return withoutRotation
    // The successor is used first, so the old token no longer counts as a lost response.
    const last = tokensIn(await refresh(target, second))
    const again = await refresh(target, first)
    const deviations = errorIn(again) === 'invalid_grant' ? [] : [`the first one again: ${described(again)}`]
    const after = await refresh(target, last.refreshToken ?? '')
    if (errorIn(after) !== 'invalid_grant') deviations.push(`the newest one after that: ${described(after)}`)
    if (await isAlive(target, last.accessToken)) deviations.push('the newest access token is still valid')
    return deviations
  },
}

const widened: Attack = {
  name: 'a refresh that asks for more',
  source: 'RFC 6749 §6',
  expected: 'invalid_scope',
  remedy: 'Let nothing before the router change form bodies.',
  run: async (target) => {
    const { refreshToken } = await newTokens(target, target.signedIn())
    if (refreshToken === undefined) return none
    const answer = await refresh(target, refreshToken, 'everything:else')
    return errorIn(answer) === 'invalid_scope' ? [] : [described(answer)]
  },
}

export const refreshTokenAttacks = [reuse, widened]
