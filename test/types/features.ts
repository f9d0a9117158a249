/** What features add to interfaces of the core, such as lib/features/device/kind.ts: the published declarations have it, too. */

import {
  type AuthRouterOptions,
  authRouter,
  defineConfig,
  type Feature,
  type RevocationReason,
} from 'latchkey'
import {
  admin,
  authenticatorApps,
  clientMetadataDocuments,
  developers,
  device,
  passkeys,
  personalAccessTokens,
  pushedRequests,
  registration,
  secondFactor,
} from 'latchkey/features'

const oauth = authRouter({
  database: { tablePrefix: 'auth_' },
  limits: { failures: { token: false } },
  protocol: {
    // @ts-expect-error: it is true, false or an object
    dpop: 'required',
  },
  features: [
    admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
    developers({
      allow: (user, { req }) => user.id === req.ip,
      maxClients: 3,
      limits: { developerClient: false },
    }),
    device({ interval: 10, limits: { deviceCode: { max: 5, seconds: 60 } } }),
    passkeys({ rpName: 'Notes' }),
    personalAccessTokens(),
    pushedRequests({ required: true, limits: false }),
    registration({ allow: ({ client_name }, { kind }) => client_name !== kind }),
    clientMetadataDocuments({ deniedOrigins: [] }),
    authenticatorApps(),
  ],
})
oauth.events.on('device.authorized', ({ deviceAddress, organization = '' }) => {
  const both: string = deviceAddress + organization
  console.info(both)
})
const reason: RevocationReason = 'device_code_replayed'
// @ts-expect-error: no such parameter works once
const unknown: RevocationReason = 'state_replayed'
console.info(reason, unknown)

// The list says what the router has.
export const acts = [
  (id: string) => oauth.passkeys.removeAll(id),
  (id: string) => oauth.secondFactor.remove(id),
  (id: string) => oauth.developers.approve(id),
]
const bare = authRouter({ features: [device()] })
// @ts-expect-error: the list has no passkeys()
bare.passkeys
const perhaps = authRouter({ features: [passkeys(), ...(process.env.APPS ? [authenticatorApps()] : [])] })
export const sure: Promise<void> = perhaps.passkeys.removeAll('1')
export const unsure: Promise<boolean> | undefined = perhaps.secondFactor?.remove('1')
// @ts-expect-error: the list may lack it
perhaps.secondFactor.remove('1')
const either = authRouter({ features: process.env.APPS ? [passkeys(), authenticatorApps()] : [passkeys()] })
export const both: Promise<boolean> | undefined = either.secondFactor?.remove('1')
// @ts-expect-error: one of the lists lacks it
either.secondFactor.remove('1')
const one = authRouter({ features: [process.env.APPS ? authenticatorApps() : device()] })
export const perhapsApps: Promise<boolean> | undefined = one.secondFactor?.remove('1')
const config = defineConfig({ features: [passkeys()] })
export const kept: Promise<void> = authRouter(config).passkeys.removeAll('1')
const wide: AuthRouterOptions = config
// @ts-expect-error: nothing is known about it
authRouter(wide).passkeys
// @ts-expect-error: it is required
admin()
// @ts-expect-error: a feature is the result of its function
authRouter({ features: [passkeys] })
// @ts-expect-error: features are a list
authRouter({ features: { length: 0 } })

// The users of the host must be those that a feature expects.
interface MyUser {
  id: number
  banned: boolean
}
interface Member {
  id: number
  plan: string
}
const users = {
  find: async (): Promise<MyUser | undefined> => undefined,
  authenticate: async () => undefined,
}
const columns = { id: 'id', username: 'email', password: 'password_hash' }
const forMembers = developers({ allow: (user: Member) => user.plan === 'pro' })
const fitting = authRouter({ users, features: [developers({ allow: (user: MyUser) => !user.banned })] })
const narrower = authRouter({
  users,
  features: [secondFactor({ find: (user: { banned: boolean }) => user.banned && undefined })],
})
const kinds: Feature[] = [forMembers]
export const allowed: unknown[] = [
  fitting.developers.approve,
  narrower.secondFactor.remove,
  authRouter({ users, features: [developers({ allow: (user) => Boolean(user.plan) }), passkeys.off()] })
    .developers,
  // Nothing is known about the users, or about the features.
  authRouter({ users: { table: 'users', columns }, features: [forMembers] }).developers,
  authRouter({ features: [forMembers] }).developers,
  authRouter({ users, features: kinds }),
]
// @ts-expect-error: the users have no plan
authRouter({ users, features: [forMembers] })
// @ts-expect-error: nor in a file of their own
defineConfig({ users, features: [passkeys(), forMembers] })
// @ts-expect-error: nor a second factor for members
authRouter({ users, features: [secondFactor({ find: (user: Member) => user.plan === 'pro' && undefined })] })
const rows = { table: 'users', columns, isActive: (row: MyUser) => !row.banned }
// @ts-expect-error: nor the rows of a table
authRouter({ users: rows, features: [forMembers] })
