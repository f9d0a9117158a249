import { createSecret, hashSecret, randomString } from '../../keys/secrets.ts'
import { readDirectRequest } from '../../oauth/authorization/incoming-request.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { assertGrantAllowed } from '../../oauth/grants/index.ts'
import { clientEndpoint } from '../../web/endpoints/client-endpoint.ts'
import type { Context } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { sendJson } from '../../web/http/send.ts'
import type { DeviceOption } from './option.ts'
import { deviceCodeGrantType, formatUserCode, userCodeAlphabet, userCodeLength } from './rules.ts'
import { createDeviceCode, type NewDeviceCode } from './table.ts'
import { userCodeHash } from './waiting.ts'

/** Stores the request under a user code that no other device has. */
const storeUnderUserCode = async (
  { database, options }: AuthorizationServer,
  device: Omit<NewDeviceCode, 'userCodeHash'>,
): Promise<string> => {
  for (;;) {
    const userCode = randomString(userCodeAlphabet, userCodeLength)
    const stored = { ...device, userCodeHash: userCodeHash(options.secrets[0], userCode) }
    if (await createDeviceCode(database, stored)) return formatUserCode(userCode)
  }
}

/** RFC 8628 §3.1, §3.2: a device asks for a code that its user types in a browser. */
export const deviceAuthorizationEndpoint = ({
  lifetime,
  interval,
  verificationUri,
}: DeviceOption): Endpoint<Context> =>
  clientEndpoint({
    path: '/device_authorization',
    metadataName: 'device_authorization_endpoint',
    cors: true,
    limit: 'deviceAuthorization',
    async answer({ server, res, info }, client, { parameters }) {
      assertGrantAllowed(client, deviceCodeGrantType)
      const request = await readDirectRequest(server, parameters, client)
      await server.throttle.takeQuota([{ name: 'deviceCode', address: info.address }])
      const deviceCode = createSecret('deviceCode')
      const now = server.now()
      const userCode = await storeUnderUserCode(server, {
        hash: hashSecret(deviceCode),
        request,
        address: info.address,
        interval,
        now,
        expiresAt: now + lifetime,
      })
      const { clientId, scopes } = request
      server.events.announce('device.requested', info, { clientId, scopes })
      const uri = verificationUri ?? `${server.issuer}/device`
      const answer = {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: uri,
        verification_uri_complete: `${uri}?${new URLSearchParams({ user_code: userCode })}`,
        expires_in: lifetime,
        interval,
      }
      sendJson(res, answer, { headers: { Pragma: 'no-cache' } })
    },
  })
