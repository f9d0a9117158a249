import { type RegisteredClient, registeredClient } from '../../oauth/clients/administration.ts'
import { keepLogo, type LogoContext } from '../../oauth/clients/logo.ts'
import { refuseUnknownClient, storeClient } from '../../oauth/clients/register.ts'
import { type ClientChanges, withoutInternals } from '../../protocol/clients/client-metadata.ts'
import { refusal } from '../../protocol/refusal.ts'
import type { Database } from '../../storage/database/types.ts'
import {
  type ClientRecord,
  findClientRecord,
  findClientRecords,
  lockClient,
  setClientDisabled,
} from '../../storage/repositories/clients.ts'
import { freeSlot } from '../../storage/repositories/slots.ts'
import { givenId, isLookup } from '../../users/users.ts'
import { changedMetadata, type DeveloperContext } from './register.ts'
import { type DeveloperFields, developerFields } from './rules.ts'
import {
  approveEnabledClient,
  type ClientOwner,
  createClientOwner,
  deleteClientOwner,
  findClientOwner,
  listClientOwners,
  listSlots,
  type OwnerStatus,
  setClientOwner,
  updateClientOwner,
} from './table.ts'

/** A request of a user about a client. */
export interface RequestFields {
  readonly clientId: string
  /** The user who owns the client. */
  readonly subject: string
}

export interface DecisionFields extends RequestFields {
  /** The administrator who decided, as the host named them. */
  readonly actor?: string
}

/** A client that a user registered. Times are epoch seconds. */
export interface DeveloperClient {
  readonly client: RegisteredClient
  /** The user who owns it. */
  readonly subject: string
  /** `waiting`: the client, or a change of it, waits for approval. `refused`: its last request was refused. */
  readonly status: OwnerStatus
  /** When the client, or its last change, was sent. */
  readonly requestedAt: number
  /** Whether it has been approved before, or needed no approval. */
  readonly approved: boolean
  /** The owner's requested changes of an approved client. */
  readonly changes?: ClientChanges
  readonly decidedAt?: number
  readonly decidedBy?: string
  readonly reason?: string
  /** Grows with every change of the owner, so that you decide about what you have seen. */
  readonly revision: number
}

/** A decision about a client, and its administrator. */
export interface DeveloperDecision {
  /** Your administrator, for events and later questions. */
  by?: string
  /** The revision that they have seen. @default the present one */
  revision?: number
}

/** Decides about the clients that users register. */
export interface DeveloperAdministration {
  /**
   * Returns at most 100 clients of users, ordered by id.
   *
   * @param filter.after the last id of the call before
   * @example const waiting = await oauth.developers.list({ status: 'waiting' })
   */
  list(filter?: { status?: OwnerStatus; after?: string }): Promise<DeveloperClient[]>
  /**
   * Returns the id of the user who owns a client, or undefined if no user owns it.
   *
   * @example const subject = await oauth.developers.ownerOf(req.auth.clientId)
   */
  ownerOf(clientId: string): Promise<string | undefined>
  /**
   * Approves a client that waits, which enables it, or the change of one. The pages no longer warn about it.
   *
   * @throws OAuthError `invalid_client` if it does not wait, or has another revision; `invalid_client_metadata` or
   *   `invalid_redirect_uri` if your options no longer allow what it asks for
   * @example await oauth.developers.approve(client.client_id, { by: 'ada' })
   */
  approve(clientId: string, decision?: DeveloperDecision): Promise<void>
  /**
   * Refuses a client that waits, or the change of one, which then stays as it is. The owner sees the reason and can send it
   * again.
   *
   * @param decision.reason at most 1,000 characters
   * @throws OAuthError `invalid_client` if it does not wait, or has another revision
   * @example await oauth.developers.refuse(client.client_id, { by: 'ada', reason: 'The name is that of our product.' })
   */
  refuse(clientId: string, decision?: DeveloperDecision & { reason?: string }): Promise<void>
  /**
   * Gives a client to another user, whatever their number of clients, or with null takes it from its owner. A change of an
   * approved client that waits is dropped.
   *
   * @param subject the user's id
   * @throws OAuthError `invalid_client` for an unknown client · `invalid_client_metadata` for a service account of an organization
   * @example await oauth.developers.transfer(clientId, colleague.id)
   */
  transfer(clientId: string, subject: string | number | bigint | null): Promise<void>
}

/** The part of the server that {@link developerAdministration} needs. */
export interface DeveloperAdministrationContext extends Omit<DeveloperContext, 'throttle'> {
  /** Resolves when the schema is ready. */
  ready(): Promise<unknown>
  /** The server, which fetches logos; absent on the command line. */
  readonly logos?: LogoContext
}

const maxReason = 1000

const changesOf = (before: DeveloperFields, after: DeveloperFields): ClientChanges => {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof DeveloperFields]),
  )
  return Object.fromEntries(changed)
}

/** A client of a user as hosts see it. */
export const developerClientOf = (client: ClientRecord, owner: ClientOwner): DeveloperClient => {
  const { clientId: _, approvedAt, proposed, decidedAt, decidedBy, reason, ...state } = owner
  return {
    ...state,
    client: registeredClient(client),
    approved: approvedAt !== null,
    ...(proposed && { changes: changesOf(developerFields(client.metadata, client.clientId), proposed) }),
    ...(decidedAt !== null && { decidedAt }),
    ...(decidedBy !== null && { decidedBy }),
    ...(reason !== null && { reason }),
  }
}

/** A request that waits, in the transaction that decides about it. */
const findWaiting = async (
  tx: Database,
  clientId: string,
  { revision }: DeveloperDecision,
): Promise<ClientOwner> => {
  const owner = await findClientOwner(tx, { clientId })
  if (owner?.status !== 'waiting') throw refusal('client_request_missing', { values: { client: clientId } })
  if (revision !== undefined && revision !== owner.revision) refuseChanged(clientId)
  return owner
}

const decider = ({ by: actor }: DeveloperDecision) => (actor === undefined ? {} : { actor })

const refuseChanged = (clientId: string): never => {
  throw refusal('client_request_changed', { values: { client: clientId } })
}

/**
 * Records that the host has enabled a client that was refused.
 *
 * @throws OAuthError `invalid_request` with status 409 for one that waits: enabling it would pass over its approval
 */
export const approveEnabled = async (
  tx: Database,
  values: { readonly clientId: string; readonly now: number },
): Promise<void> => {
  await approveEnabledClient(tx, values)
  const { clientId } = values
  const owner = await findClientOwner(tx, { clientId })
  if (owner?.status === 'waiting' && owner.approvedAt === null)
    throw refusal('client_not_approved', { values: { client: clientId }, status: 409 })
}

/** @param context the server; the CLI has no running server and passes the parts it has */
export const developerAdministration = (context: DeveloperAdministrationContext): DeveloperAdministration => {
  const { database, events, now: clock, ready } = context

  /** Stores a decision. The revision decides between parallel ones. */
  const decide = async (
    tx: Database,
    { proposed: _, ...owner }: ClientOwner,
    { by }: DeveloperDecision,
    change: Partial<ClientOwner>,
  ): Promise<string> => {
    const decision = { decidedAt: clock(), decidedBy: by ?? null, ...change }
    if (!(await updateClientOwner(tx, { ...owner, ...decision }))) refuseChanged(owner.clientId)
    return owner.subject
  }

  return {
    list: async ({ status, after = '' } = {}) => {
      await ready()
      const owners = await listClientOwners(database, { status, after })
      const clientIds = owners.map(({ clientId }) => clientId)
      const records = await findClientRecords(database, { clientIds, now: clock() })
      const clients = new Map(records.map((client) => [client.clientId, client]))
      return owners.flatMap((owner) => {
        const client = clients.get(owner.clientId)
        // It may just have been removed.
        return client ? [developerClientOf(client, owner)] : []
      })
    },
    ownerOf: async (clientId) => {
      await ready()
      return (await findClientOwner(database, { clientId }))?.subject
    },
    approve: async (clientId, decision = {}) => {
      await ready()
      await events.change(database, async (tx, tell) => {
        const now = clock()
        const client = (await lockClient(tx, { clientId, now })) ?? refuseUnknownClient(clientId)
        const owner = await findWaiting(tx, clientId, decision)
        const { approvedAt, proposed } = owner
        const fields = proposed ?? developerFields(client.metadata, clientId)
        const metadata = withoutInternals(changedMetadata(context, client.metadata, fields))
        const approval = { status: 'active', approvedAt: approvedAt ?? now, reason: null } as const
        const subject = await decide(tx, owner, decision, approval)
        await storeClient(tx, context, { clientId, secret: undefined, metadata }, client, now)
        if (approvedAt === null) await setClientDisabled(tx, { clientId, disabledAt: null, now })
        await tell('client.approved', undefined, { clientId, subject, ...decider(decision) })
      })
      const record = context.logos && (await findClientRecord(database, { clientId, now: clock() }))
      if (context.logos && record) keepLogo(context.logos, record)
    },
    refuse: async (clientId, { reason, ...decision } = {}) => {
      await ready()
      if (reason !== undefined && (typeof reason !== 'string' || reason.length > maxReason))
        throw new TypeError(`latchkey: reason must be a string of at most ${maxReason} characters`)
      await events.change(database, async (tx, tell) => {
        const owner = await findWaiting(tx, clientId, decision)
        const subject = await decide(tx, owner, decision, { status: 'refused', reason: reason ?? null })
        await tell('client.approval_refused', undefined, { clientId, subject, ...decider(decision) })
      })
    },
    transfer: async (clientId, to) => {
      const subject = to === null ? undefined : givenId(to, 'developers.transfer()')
      await ready()
      if (subject !== undefined && !isLookup(subject))
        throw new TypeError('latchkey: subject must be the id of a user, or null')
      await events.change(database, async (tx, tell) => {
        const now = clock()
        const client = (await lockClient(tx, { clientId, now })) ?? refuseUnknownClient(clientId)
        if (client.metadata.owned_by)
          throw refusal('client_of_organization', { values: { client: clientId } })
        await tell('client.transferred', undefined, { clientId, ...(subject !== undefined && { subject }) })
        if (subject === undefined) return deleteClientOwner(tx, { clientId })
        const slot = freeSlot(await listSlots(tx, { subject }), Number.MAX_SAFE_INTEGER) ?? 0
        const values = { clientId, subject, slot }
        const owner = await findClientOwner(tx, { clientId })
        if (owner === undefined)
          return createClientOwner(tx, { ...values, status: 'active', approvedAt: now, now })
        // The new owner has not made the request of the previous one.
        const { proposed, ...kept } = owner
        const status = proposed === undefined ? owner.status : 'active'
        if (!(await updateClientOwner(tx, { ...kept, status }))) refuseChanged(clientId)
        return setClientOwner(tx, values)
      })
    },
  }
}
