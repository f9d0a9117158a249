import {
  admin,
  authenticatorApps,
  developers,
  device,
  passkeys,
  personalAccessTokens,
  pushedRequests,
  registration,
  webhooks,
} from '../../lib/features/index.ts'
import type { AuthRouterOptions, ClientSeed } from '../../lib/index.ts'
import type { KeptPasskey } from '../support/authenticator.ts'
import type { TestDatabase } from '../support/database.ts'
import { deviceClients } from '../support/device.ts'
import { clients, type Host, startHost } from '../support/host.ts'
import { files, resourceOptions } from '../support/resource-host.ts'

/** The people of a recorded database, in Latchkey's own table. Each has the password {@link password}. */
export const names = {
  ada: 'ada@example.com',
  /** Has an authenticator app. */
  bob: 'bob@example.com',
  /** Has a passkey. */
  cyd: 'cyd@example.com',
  /** Everything was revoked. */
  dan: 'dan@example.com',
} as const
export const password = 'a password of the recorded people'

const scope = 'openid profile email offline_access notes:read notes:write files:read'
const [web, native] = clients as [ClientSeed, ClientSeed]
const recordedClients: readonly ClientSeed[] = [
  { ...web, scope },
  native,
  { ...web, client_id: 'pairwise', scope: 'openid', subject_type: 'pairwise' },
  { ...web, client_id: 'moved', grant_types: ['client_credentials'], scope: 'notes:read' },
  ...deviceClients,
]

const options: Partial<AuthRouterOptions> = {
  users: undefined,
  acrValues: ['mfa', 'strong'],
  scopes: resourceOptions.scopes,
  resources: { [files]: { scopes: ['files:read'], accessToken: 'jwt' } },
  storedEvents: true,
  features: [
    admin({ allow: () => 'carol' }),
    authenticatorApps({ acr: 'mfa' }),
    developers({ allow: () => true }),
    device(),
    passkeys({ acr: 'strong' }),
    personalAccessTokens(),
    pushedRequests(),
    registration(),
    webhooks.off(),
  ],
}

/** A server as the recorded one, on this database. */
export const startRecorded = async (database: TestDatabase, isNew = false): Promise<Host> => {
  const host = await startHost({ database, options, clients: isNew ? [...recordedClients] : [] })
  host.app.get('/api/files', host.oauth.requireToken('files:read', { resource: files }), (req, res) => {
    res.json({ subject: req.auth.subject })
  })
  return host
}

interface OpenPage {
  readonly cookies: Readonly<Record<string, string>>
  readonly url: string
}

/** What people, programs and devices hold of a server. The database has hashes of most of it. */
export interface Holdings {
  /** Ada's subject, for any client and for the client `pairwise`. */
  readonly subject: string
  readonly pairwiseSubject: string
  /** The cookies of Ada's browser, which is signed in. */
  readonly cookies: Readonly<Record<string, string>>
  /** A browser that has opened the sign-in page: its cookies, and the address of the page. */
  readonly waiting: OpenPage
  /** A browser in which Bob has given his password, at the page that asks for a code. */
  readonly halfway: OpenPage
  readonly code: string
  readonly accessToken: string
  readonly jwtAccessToken: string
  readonly refreshToken: string
  /** Dan's, from before everything of him was revoked. */
  readonly revokedToken: string
  readonly idToken: string
  readonly personalToken: string
  /** Ada has allowed it, and the device does not know yet. */
  readonly deviceCode: string
  readonly requestUri: string
  readonly registration: { readonly clientId: string; readonly token: string }
  /** Of Bob's authenticator app. */
  readonly totpSecret: string
  readonly recoveryCode: string
  /** Cyd's. */
  readonly passkey: KeptPasskey
  /** The secret of the client `moved` at another server, which was imported. */
  readonly importedSecret: string
}

/** A database of a version, with what is held of it. */
export interface Recorded {
  readonly version: string
  /** Epoch seconds; what is recorded expires. */
  readonly recordedAt: number
  readonly migrations: readonly string[]
  /** In the order in which they were created: the columns, and the rows. */
  readonly tables: readonly {
    readonly name: string
    readonly columns: readonly string[]
    readonly rows: readonly Readonly<Record<string, string | number | null>>[]
  }[]
  readonly holdings: Holdings
}
