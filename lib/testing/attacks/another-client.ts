import type { Attack } from '../attack.ts'
import { errorIn } from '../flow.ts'
import { described, jsonOf } from '../outcome.ts'
import { asClient, isAlive, newCode, newTokens, redemption } from '../tokens.ts'

/** What was given to one client is worthless to the next. */
export const anotherClient: Attack = {
  name: 'codes and tokens in the hands of another client',
  source: 'RFC 6749 §4.1.3, §6 and §10.4, RFC 7009 §2.1, RFC 7662 §4',
  expected: 'invalid_grant; revoked by nobody else; inactive when asked about',
  remedy:
    'Give each client a client_id and a secret of its own, and let nothing before the router rewrite them.',
  run: async (target) => {
    const other = target.options.otherClient
    if (other === undefined) return { skipped: 'give otherClient, a second registered client' }
    const deviations: string[] = []
    const granted = await newCode(target, target.signedIn())
    const redeemed = await asClient(target, '/token', redemption(granted), other)
    if (errorIn(redeemed) !== 'invalid_grant') deviations.push(`the code: ${described(redeemed)}`)
    const { accessToken, refreshToken } = await newTokens(target, target.signedIn())
    if (refreshToken !== undefined) {
      const fields = { grant_type: 'refresh_token', refresh_token: refreshToken }
      const refreshed = await asClient(target, '/token', fields, other)
      if (!['invalid_grant', 'unauthorized_client'].includes(errorIn(refreshed)))
        deviations.push(`the refresh token: ${described(refreshed)}`)
    }
    for (const token of [accessToken, refreshToken ?? accessToken]) {
      await asClient(target, '/revoke', { token }, other)
      const told = await asClient(target, '/introspect', { token }, other)
      if (jsonOf(told).active === true) deviations.push(`introspection: ${described(told)}`)
    }
    if (!(await isAlive(target, accessToken))) deviations.push('it could revoke the access token')
    return deviations
  },
}
