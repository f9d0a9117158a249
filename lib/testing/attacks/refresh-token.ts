import type { Attack, Outcome } from '../attack.ts'
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

const none = { skipped: 'the client is given no refresh token' }

/** A public client has nothing but rotation to notice a theft by. */
const withoutRotation = ({ options: { client } }: Target): Outcome =>
  client.client_secret === undefined
    ? ['a public client keeps its refresh token for ever']
    : { skipped: 'the client is registered without rotation' }

const reuse: Attack = {
  name: 'a refresh token used again',
  source: 'RFC 9700 §2.2.2 and §4.14.2',
  expected: 'a new one with every use; an old one ends everything that came of it',
  remedy:
    'Register public clients with refresh_token_rotation, let no cache or retrying proxy answer for POST /token, and give all processes one database.',
  run: async (target) => {
    const { refreshToken: first } = await newTokens(target, target.signedIn())
    if (first === undefined) return none
    const second = tokensIn(await refresh(target, first)).refreshToken ?? ''
    if (second === first) return withoutRotation(target)
    // The successor is used, so the first one is no lost answer that may be had again.
    const last = tokensIn(await refresh(target, second))
    const again = await refresh(target, first)
    const deviations = errorIn(again) === 'invalid_grant' ? [] : [`the first one again: ${described(again)}`]
    const after = await refresh(target, last.refreshToken ?? '')
    if (errorIn(after) !== 'invalid_grant') deviations.push(`the newest one after that: ${described(after)}`)
    if (await isAlive(target, last.accessToken)) deviations.push('the newest access token is still alive')
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
    const scope = `${target.options.client.scope ?? 'openid'} everything:else`
    const answer = await refresh(target, refreshToken, scope)
    return errorIn(answer) === 'invalid_scope' ? [] : [described(answer)]
  },
}

export const refreshTokenAttacks = [reuse, widened]
