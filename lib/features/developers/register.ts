import type { Events } from '../../events/events.ts'
import type { Throttle } from '../../limits/throttle.ts'
import {
  type CheckedRegistration,
  type ClientCredentials,
  type ClientRegistration,
  type ClientRegistry,
  checkedRegistration,
  storeClient,
} from '../../oauth/clients/register.ts'
import type { Options } from '../../options/options.ts'
import { registrableOf } from '../../options/registrable.ts'
import { assertHttpsPages, type ClientMetadata } from '../../protocol/clients/client-metadata.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { transaction } from '../../storage/database/transaction.ts'
import type { Database } from '../../storage/database/types.ts'
import { lockClient, setClientDisabled } from '../../storage/repositories/clients.ts'
import { lockLogin } from '../../storage/repositories/logins.ts'
import { freeSlot } from '../../storage/repositories/slots.ts'
import { developerRules } from './host-rules.ts'
import type { DeveloperOption } from './option.ts'
import {
  assertDeveloperClient,
  type DeveloperFields,
  developerFields,
  onlyRemoves,
  withDeveloperFields,
} from './rules.ts'
import {
  createClientOwner,
  deleteClientOwner,
  findClientOwner,
  listClientIdsOfOwner,
  listSlots,
  updateClientOwner,
} from './table.ts'

/** The part of the server that lets users register clients. */
export interface DeveloperContext extends Pick<ClientRegistry, 'installed'> {
  readonly database: Database
  readonly options: Pick<Options, 'protocol' | 'scopes' | 'production'>
  /** Undefined while developers are off; requests of users can still be decided. */
  readonly option: DeveloperOption | undefined
  readonly events: Pick<Events, 'change'>
  readonly throttle: Pick<Throttle, 'takeQuota'>
  /** Epoch seconds. */
  now(): number
}

/** A user who registers a client, or changes one. */
export interface Developer {
  readonly subject: string
  /** The login that sends it. The host decides meanwhile, and then it must still stand. */
  readonly sid: string
  /** Whether what they send waits for approval. */
  readonly needsApproval: boolean
  readonly info: RequestInfo
}

const checked = (
  { options, option }: Pick<DeveloperContext, 'options' | 'option'>,
  input: Readonly<Record<string, unknown>>,
  existing?: ClientMetadata,
): CheckedRegistration => {
  const registration = checkedRegistration(input as ClientRegistration, registrableOf(options))
  assertDeveloperClient(registration.metadata, developerRules(option), existing)
  if (options.production) assertHttpsPages(registration.metadata)
  return registration
}

/**
 * The metadata of a client as its owner changes it, checked by all rules.
 *
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`
 */
export const changedMetadata = (
  context: Pick<DeveloperContext, 'options' | 'option'>,
  existing: ClientMetadata,
  fields: DeveloperFields,
): ClientMetadata =>
  checked(context, withDeveloperFields(existing, fields, developerRules(context.option).scopes), existing)
    .metadata

/**
 * Checks a new client by all rules.
 *
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`
 */
export const checkedNew = (
  context: Pick<DeveloperContext, 'options' | 'option'>,
  { fields, isPublic }: { readonly fields: DeveloperFields; readonly isPublic: boolean },
): CheckedRegistration =>
  checked(context, { ...fields, ...(isPublic && { token_endpoint_auth_method: 'none' }) })

/**
 * Registers a client of a user. One that waits for approval is disabled.
 *
 * @param created.isPublic whether the client has no secret
 * @returns `full` if the user has as many clients as the option `developers` allows, `signed-out` if the login has ended
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`; status 429 after too many registrations
 */
export const registerDeveloperClient = async (
  context: DeveloperContext,
  { subject, sid, needsApproval, info }: Developer,
  created: { readonly fields: DeveloperFields; readonly isPublic: boolean },
): Promise<ClientCredentials | 'full' | 'signed-out'> => {
  const { database, option, events, now: clock } = context
  const { metadata, ...registration } = checkedNew(context, created)
  await context.throttle.takeQuota([{ name: 'developerClient', subject }])
  const { clientId } = registration
  const described: ClientMetadata = { ...metadata, self_described: 'user' }
  return events.change(database, async (tx, tell) => {
    const now = clock()
    if ((await lockLogin({ sid, now }).run(tx)) === 0) return 'signed-out'
    const slot = freeSlot(await listSlots(tx, { subject }), option?.maxClients ?? 0)
    if (slot === undefined) return 'full'
    const state = needsApproval
      ? ({ status: 'waiting', approvedAt: null } as const)
      : ({ status: 'active', approvedAt: now } as const)
    await createClientOwner(tx, { clientId, subject, slot, ...state, now })
    const stored = await storeClient(tx, context, { ...registration, metadata: described }, undefined, now)
    if (needsApproval) await setClientDisabled(tx, { clientId, disabledAt: now, now })
    await tell('client.created', info, { clientId, subject })
    if (needsApproval) await tell('client.approval_requested', info, { clientId, subject })
    return stored
  })
}

/**
 * Changes a client of a user. With approval, an approved client stays as it is until the change is approved; a change that
 * only removes redirect URIs and scopes applies at once.
 *
 * @param change.revision the one that the user has seen
 * @returns what became of it; `stale`: the client is not theirs, or has changed since they saw it; `signed-out`: the login
 *   has ended
 * @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri`
 */
export const changeDeveloperClient = async (
  context: DeveloperContext,
  { subject, sid, needsApproval, info }: Developer,
  change: { readonly clientId: string; readonly revision: number; readonly fields: DeveloperFields },
): Promise<'saved' | 'waiting' | 'stale' | 'signed-out'> => {
  const { database, events } = context
  const { clientId, revision, fields } = change
  return events.change(database, async (tx, tell) => {
    const now = context.now()
    if ((await lockLogin({ sid, now }).run(tx)) === 0) return 'signed-out'
    const client = await lockClient(tx, { clientId, now })
    const owner = await findClientOwner(tx, { clientId })
    if (client === undefined || owner?.subject !== subject || owner.revision !== revision) return 'stale'
    const { proposed: _, approvedAt, ...others } = owner
    const request = { ...others, requestedAt: now, decidedAt: null, decidedBy: null, reason: null }
    const metadata = changedMetadata(context, client.metadata, fields)
    const before = developerFields(client.metadata, clientId)
    const isSmall = onlyRemoves(before, developerFields(metadata, clientId))
    if (needsApproval && approvedAt !== null && !isSmall) {
      const waiting = { ...request, approvedAt, status: 'waiting', proposed: fields } as const
      if (!(await updateClientOwner(tx, waiting))) return 'stale'
      await tell('client.approval_requested', info, { clientId, subject })
      return 'waiting'
    }
    const waits = needsApproval && approvedAt === null
    const applied = {
      ...request,
      status: waits ? 'waiting' : 'active',
      approvedAt: approvedAt ?? (waits ? null : now),
    } as const
    if (!(await updateClientOwner(tx, applied))) return 'stale'
    const keepsState = needsApproval && approvedAt !== null
    const by = keepsState ? client.metadata.self_described : 'user'
    const described = { ...metadata, ...(by && { self_described: by }) }
    await storeClient(tx, context, { clientId, secret: undefined, metadata: described }, client, now)
    if (approvedAt === null && !waits) await setClientDisabled(tx, { clientId, disabledAt: null, now })
    await tell(waits ? 'client.approval_requested' : 'client.updated', info, { clientId, subject })
    return waits ? 'waiting' : 'saved'
  })
}

/** The part of `oauth.users.export()` about the clients that a user registered. */
export const exportClientsOf = async (
  database: Database,
  subject: string,
): Promise<{ readonly clients?: readonly string[] }> => {
  const clients = await listClientIdsOfOwner(database, { subject })
  return clients.length > 0 ? { clients } : {}
}

/** Disables the clients of a user who is erased, and leaves them without an owner. It can be repeated after an error. */
export const releaseClientsOf = async (
  { database, now: clock }: Pick<DeveloperContext, 'database' | 'now'>,
  subject: string,
): Promise<void> => {
  for (const clientId of await listClientIdsOfOwner(database, { subject })) {
    await transaction(database, async (tx) => {
      const now = clock()
      const client = await lockClient(tx, { clientId, now })
      await deleteClientOwner(tx, { clientId })
      if (client?.disabledAt === null) await setClientDisabled(tx, { clientId, disabledAt: now, now })
    })
  }
}
