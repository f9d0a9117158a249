import type { Attack } from '../attack.ts'
import { errorIn } from '../flow.ts'
import { described, jsonOf } from '../outcome.ts'
import { asClient, isAlive, newCode, newTokens, redemption } from '../tokens.ts'

/** Codes and tokens of one client must be useless to another. */
export const anotherClient: Attack = {
  name: 'codes and tokens used by another client',
  source: 'RFC 6749 §4.1.3, §6 and §10.4, RFC 7009 §2.1, RFC 7662 §4',
  expected: 'invalid_grant; only the owner can revoke; introspection says inactive',
  remedy: 'Give each client its own client_id and secret, and do not rewrite them before the router.',
  run: async (target) => {
    const other = target.options.otherClient
    if (other === undefined) return { skipped: 'set otherClient to a second registered client' }
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
      const introspected = await asClient(target, '/introspect', { token }, other)
      if (jsonOf(introspected).active === true) deviations.push(`introspection: ${described(introspected)}`)
    }
    if (!(await isAlive(target, accessToken))) deviations.push('it could revoke the access token')
    return deviations
  },
}
