import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { notifyClients } from '../../oauth/tokens/back-channel-logout.ts'
import type { Choices } from '../../protocol/choices.ts'
import { setMembers } from '../../protocol/json.ts'
import type { ConsentReceiptRecord } from '../../storage/repositories/consent-receipts.ts'
import {
  type ConsentRecord,
  type EventRecord,
  findClientsOfLogin,
  listAuthorizations,
  listConsentReceipts,
  listConsents,
  listEventsOfSubject,
  listLoginHistory,
  removeConsentReceipts,
  removeConsentsOfSubject,
  removeEventsOfSubject,
  removeLoginsOfSubject,
  removeUser,
} from '../../storage/repositories/index.ts'
import { removeFamiliesOfSubject } from '../../storage/repositories/pruning/authorizations.ts'
import { isLookup } from '../users.ts'
import { endAllOf } from './end-all.ts'

/** Everything that is stored about a user. Times are epoch seconds. */
export interface UserExport {
  /** The consents of the user. */
  readonly consents: readonly ConsentRecord[]
  /** The consent pages as they were when the user allowed them. */
  readonly receipts: readonly ConsentReceiptRecord[]
  /** The authorizations of the user, until they are pruned. */
  readonly authorizations: readonly {
    readonly id: string
    readonly clientId: string
    readonly organization?: string
    readonly scopes: readonly string[]
    /** The things that the user chose, by kind; absent if its scopes are about none. */
    readonly choices?: Choices
    /** Absent if it is for no resource. */
    readonly resources?: readonly string[]
    /** Absent if it was granted to a device, or for an assertion. */
    readonly redirectUri?: string
    readonly createdAt: number
    readonly lastUsedAt: number | null
    readonly expiresAt: number
    readonly revokedAt: number | null
  }[]
  /** When and how the user logged in, until it is pruned. */
  readonly logins: readonly {
    readonly authTime: number
    readonly amr: readonly string[]
    readonly acr?: string
    readonly expiresAt: number
    readonly endedAt: number | null
    /** The browser, as it described itself. */
    readonly userAgent?: string
    /** The IP address at the sign-in. */
    readonly address?: string
    readonly lastSeenAt?: number
  }[]
  /** The events about the user, with `storedEvents`. */
  readonly events?: readonly EventRecord[]
}

/** Reads everything that is stored about a user, without hashes and secrets. */
export const exportUser = async (server: AuthorizationServer, subject: string): Promise<UserExport> => {
  if (!isLookup(subject)) return { consents: [], receipts: [], authorizations: [], logins: [] }
  const { database } = server
  const consents = await listConsents(database, { subject })
  const receipts = await listConsentReceipts(database, { subject })
  const authorizations = await listAuthorizations(database, { subject })
  const logins = await listLoginHistory(database, { subject })
  const events = server.eventLog && (await listEventsOfSubject(database, { subject }))
  let ofFeatures: object = {}
  for (const { storage } of server.installed)
    ofFeatures = { ...ofFeatures, ...(await storage?.users?.export(database, subject)) }
  return {
    ...(events && { events }),
    ...ofFeatures,
    consents,
    receipts,
    authorizations: authorizations.map(({ details: { redirectUri, organization, resources }, ...row }) => {
      const { id, clientId, scopes, choices, createdAt, lastUsedAt, expiresAt, revokedAt } = row
      const times = { createdAt, lastUsedAt, expiresAt, revokedAt }
      const named = resources && Object.keys(resources)
      const granted = { scopes, choices, resources: named }
      return setMembers({ id, clientId, organization, ...granted, redirectUri, ...times })
    }),
    logins: logins.map(({ authTime, amr, acr, expiresAt, endedAt, userAgent, address, lastSeenAt }) =>
      setMembers({ authTime, amr, expiresAt, endedAt, acr, userAgent, address, lastSeenAt }),
    ),
  }
}

/**
 * Removes every row about a user: first everything ends, so that nothing more can be issued, then the rows are removed in
 * batches, and last it is announced. It can stop anywhere and be called again.
 */
export const eraseUser = async (server: AuthorizationServer, subject: string): Promise<void> => {
  const { database } = server
  const { sids } = await endAllOf(server, subject)
  for (const sid of sids) {
    // Read before the rows are removed that say which clients to notify.
    const clients = await findClientsOfLogin(database, { sid })
    server.runInBackground(notifyClients(server, { sid, subject }, clients))
  }
  await removeLoginsOfSubject(database, { subject })
  for (const { storage } of server.installed) await storage?.users?.erase(server, subject)
  for await (const _ of removeFamiliesOfSubject(database, { subject }));
  await removeConsentsOfSubject(database, { subject })
  await removeConsentReceipts(database, { subject })
  if (server.eventLog) {
    await server.eventLog.settled()
    server.eventLog.forget(subject)
    await removeEventsOfSubject(database, { subject })
  }
  await server.events.change(database, async (tx, tell) => {
    if (server.options.users === undefined) await removeUser(tx, { id: subject })
    await tell('user.erased', undefined, { subject })
  })
}
