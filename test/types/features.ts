/** What features add to interfaces of the core, such as lib/features/device/kind.ts: the published declarations have it, too. */
import { authRouter, type RevocationReason } from 'latchkey'

const oauth = authRouter({
  database: { tablePrefix: 'auth_' },
  limits: {
    failures: { token: false, par: { max: 5, seconds: 60 } },
    quotas: { registration: false, deviceCode: false, secondFactorSend: false, developerClient: false },
  },
  features: {
    admin: { allow: ({ req }) => req.get('x-admin') ?? false },
    developers: { allow: (user, { req }) => user.id === req.ip, maxClients: 3 },
    deviceAuthorization: { interval: 10 },
    passkeys: { rpName: 'Notes' },
    personalAccessTokens: true,
    pushedRequests: { required: true },
    registration: { allow: ({ client_name }, { kind }) => client_name !== kind },
    clientMetadataDocuments: { deniedOrigins: [] },
    authenticatorApps: true,
    // @ts-expect-error: a feature is true, false or an object
    dpop: 'required',
  },
})
oauth.events.on('device.authorized', ({ deviceAddress, organization = '' }) => {
  const both: string = deviceAddress + organization
  console.info(both)
})
const reason: RevocationReason = 'device_code_replayed'
// @ts-expect-error: no such parameter works once
const unknown: RevocationReason = 'state_replayed'
console.info(reason, unknown)
