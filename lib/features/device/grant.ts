import { hashSecret, isSecretOf } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { redeem } from '../../oauth/grants/authorization-code.ts'
import type { Grant } from '../../oauth/grants/grant.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { grantedStill, type Redemption } from '../../protocol/requests/authorization.ts'
import type { TokenRequest } from '../../protocol/tokens/token-request.ts'
import { findAuthorizationByCode } from '../../storage/repositories/index.ts'
import { assertDeviceRedeemable, deviceCodeGrantType, devicePollState, stillPending } from './rules.ts'
import { findDeviceCode, pollDeviceCode, slowDownDevice } from './table.ts'

/**
 * The authorization that a user gave a device that polls.
 *
 * @throws OAuthError of RFC 8628 §3.5 until the user has allowed it, and if polling is over
 */
const grantedTo = async (
  { database, options, now: clock }: AuthorizationServer,
  client: Client,
  { parameters, binding }: TokenRequest,
): Promise<Redemption> => {
  const code = parameters.required('device_code')
  const [hash, now] = [hashSecret(code), clock()]
  const found = isSecretOf('deviceCode', code) ? await findDeviceCode(database, { hash }) : undefined
  if (devicePollState(found, client.clientId, now) === 'pending') {
    const isDue = await pollDeviceCode(database, { hash, now, due: now + 1 })
    if (!isDue) await slowDownDevice(database, { hash, now })
    throw stillPending(isDue)
  }
  const granted = await findAuthorizationByCode(database, { codeHash: hash })
  const authorization = granted && grantedStill(granted, client, options.lifetimes)
  return assertDeviceRedeemable(authorization, binding, now)
}

/** RFC 8628 §3.4: a device without a browser polls until its user has decided in another browser. */
export const deviceCode: Grant = {
  grantType: deviceCodeGrantType,
  readsDetails: true,
  async exchange(server, client, request) {
    const redemption = await grantedTo(server, client, request)
    return redeem(server, client, request, {
      ...redemption,
      grantType: deviceCodeGrantType,
      parameter: 'device_code',
      step: 'device_code',
    })
  },
}
