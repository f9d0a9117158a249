import type { AuthorizationServer } from '../authorization-server.ts'
import type { ConsentReceiptRecord } from '../repositories/consent-receipts.ts'
import {
  findClientsOfLogin,
  listAuthorizations,
  listConsentReceipts,
  listConsents,
  listLoginHistory,
  listLogins,
  removeConsentReceipts,
  removeConsentsOfSubject,
  removeLoginsOfSubject,
  removeUser,
  revokeAuthorizationsOfSubject,
} from '../repositories/index.ts'
import { removeFamiliesOfSubject } from '../repositories/pruning/authorizations.ts'
import { notifyClients } from '../tokens/back-channel-logout.ts'
import { isLookup } from '../users/subject.ts'

/** What is kept about a user. Times are epoch seconds. */
export interface UserExport {
  /** What the user allows which client. */
  readonly consents: readonly {
    readonly clientId: string
    /** The workspace that it is for, where the host knows workspaces. */
    readonly organization?: string
    readonly scopes: readonly string[]
    readonly createdAt: number
    readonly updatedAt: number
  }[]
  /** What the user was shown when they allowed it. */
  readonly receipts: readonly ConsentReceiptRecord[]
  /** What clients were given, until it is over and removed. */
  readonly authorizations: readonly {
    readonly id: string
    readonly clientId: string
    /** Likewise. */
    readonly organization?: string
    readonly scopes: readonly string[]
    readonly redirectUri: string
    readonly createdAt: number
    readonly lastUsedAt: number | null
    readonly expiresAt: number
    readonly revokedAt: number | null
  }[]
  /** When and how the user signed in, as far back as it is kept. */
  readonly logins: readonly {
    readonly authTime: number
    readonly amr: readonly string[]
    readonly expiresAt: number
    readonly endedAt: number | null
  }[]
}

/** All that is kept about a user; no hash or secret is among it. */
export const exportUser = async (server: AuthorizationServer, subject: string): Promise<UserExport> => {
  if (!isLookup(subject)) return { consents: [], receipts: [], authorizations: [], logins: [] }
  const { database } = server
  const consents = await listConsents(database, { subject })
  const receipts = await listConsentReceipts(database, { subject })
  const authorizations = await listAuthorizations(database, { subject })
  const logins = await listLoginHistory(database, { subject })
  return {
    consents: consents.map(({ client: _, ...consent }) => consent),
    receipts,
    authorizations: authorizations.map((authorization) => {
      const { id, clientId, scopes, details, createdAt, lastUsedAt, expiresAt, revokedAt } = authorization
      const { redirectUri, organization } = details
      const whose = { id, clientId, ...(organization !== undefined && { organization }) }
      return { ...whose, scopes, redirectUri, createdAt, lastUsedAt, expiresAt, revokedAt }
    }),
    logins: logins.map(({ authTime, amr, expiresAt, endedAt }) => ({ authTime, amr, expiresAt, endedAt })),
  }
}

/**
 * Removes every row about a user. First what gives access, so that whatever comes after it is dead; then the rest, a
 * few rows at a time. It may stop anywhere and be called again.
 */
export const eraseUser = async (server: AuthorizationServer, subject: string): Promise<void> => {
  const { database } = server
  const now = server.now()
  // Whom to tell is written in what is about to go.
  const sids = await listLogins(database, { subject, now })
  const told: { sid: string; clients: Awaited<ReturnType<typeof findClientsOfLogin>> }[] = []
  for (const sid of sids) told.push({ sid, clients: await findClientsOfLogin(database, { sid }) })

  await removeLoginsOfSubject(database, { subject })
  for (const { sid, clients } of told)
    server.runInBackground(notifyClients(server, { sid, subject }, clients))
  await revokeAuthorizationsOfSubject(database, { subject, now })
  for await (const _ of removeFamiliesOfSubject(database, { subject }));
  await removeConsentsOfSubject(database, { subject })
  await removeConsentReceipts(database, { subject })
  if (server.options.users === undefined) await removeUser(database, { id: subject })
}
