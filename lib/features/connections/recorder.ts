import { isIP } from 'node:net'
import type { AuthEvent } from '../../events/event.ts'
import type {
  Observe,
  SeenCall,
  SeenConsent,
  SeenDocument,
  SeenError,
  SeenRequest,
  Sighting,
} from '../../events/sighting.ts'
import { subscriberOf } from '../../limits/network.ts'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { clientAuthMethodsOf } from '../../oauth/client-authentication/index.ts'
import { profileAuthMethods } from '../../protocol/clients/security-profile.ts'
import { readable } from '../../protocol/explanation.ts'
import { createOnce, type Once } from './once.ts'

/** Of what strangers can cause: so many rows of a process in ten minutes, for each network and for all. */
const ofStrangers = { seconds: 600, each: 100, all: 5000 }
/**
 * Of calls with tokens of known clients, in an hour, for each client and user and for all: one for each token, and one for each
 * reason to refuse it.
 */
const ofClients = { seconds: 3600, each: 1000, all: 50_000 }

const maxPath = 200

/** The records that a process made lately. */
interface Recorded {
  readonly server: ServerSetup
  readonly strangers: Once
  readonly clients: Once
  /** In the windows of {@link strangers}, so that it is recorded whenever the request is. */
  readonly consents: Once
}

const ownerOf = (clientId: string, subject: string | undefined): string => `${clientId} ${subject ?? ''}`

/** An API in another process has an id instead of an address. */
const networkIn = (owner: string): string => (isIP(owner) === 0 ? owner : subscriberOf(owner))

const path = (value: string | undefined) =>
  value === undefined ? {} : { path: readable(value.slice(0, maxPath)) }

const recordAccepted = (
  { server, clients }: Recorded,
  { info, accepted, resource, ...seen }: SeenCall & { readonly accepted: NonNullable<SeenCall['accepted']> },
): void => {
  const { clientId, subject, authorizationId, issuedAt } = accepted
  if (!clients.isFirst(ownerOf(clientId, subject), `call ${resource} ${authorizationId} ${issuedAt}`)) return
  server.events.announce('call.accepted', info, {
    clientId,
    ...(subject !== undefined && { subject }),
    ...(authorizationId !== undefined && { authorizationId }),
    ...(resource !== undefined && { resource }),
    ...path(seen.path),
    ...(seen.api !== undefined && { api: seen.api }),
  })
}

/** @returns the id of the request that the same was recorded of */
const recordRefused = (
  { server, clients, strangers }: Recorded,
  { info, refused, resource, ...seen }: SeenCall & { readonly refused: NonNullable<SeenCall['refused']> },
): string | undefined => {
  const { code, status, reason, message: description, clientId, subject, explanation } = refused
  // It has a line in the log, and says nothing about the client.
  if (status >= 500 || code === 'use_dpop_nonce') return undefined
  const call = `call ${code} ${reason} ${resource}`
  const isStranger = clientId === undefined
  const once = isStranger ? strangers : clients
  const owner = isStranger ? (info?.address ?? `${seen.api}`) : ownerOf(clientId, subject)
  const what = isStranger ? `${info?.agent} ${call} ${seen.path}` : `${call} ${description}`
  if (!once.isFirst(owner, what, info?.requestId)) return once.firstId(owner, what)
  server.events.announce('call.refused', info, {
    code,
    status,
    ...(reason !== undefined && { reason }),
    description,
    ...(clientId !== undefined && { clientId }),
    ...(subject !== undefined && { subject }),
    ...(resource !== undefined && { resource }),
    ...path(seen.path),
    ...(seen.api !== undefined && { api: seen.api }),
    ...explanation,
  })
  return info?.requestId
}

/** Whether clients without a secret find their method in the metadata. */
const servesPublicClients = (server: ServerSetup): boolean => {
  const profile = server.options.protocol.fapi2 ? { security_profile: 'fapi2' as const } : {}
  return profileAuthMethods(
    profile,
    clientAuthMethodsOf(server).map(({ name }) => name),
  ).some((name) => name === 'none')
}

const recordDocument = ({ server, strangers }: Recorded, seen: SeenDocument): void => {
  const { info, isServed } = seen
  if (!strangers.isFirst(info.address, `${info.agent} document ${seen.path.slice(0, maxPath)}`)) return
  const isMetadata = !seen.path.includes('oauth-protected-resource')
  server.events.announce('document.requested', info, {
    path: readable(seen.path.slice(0, maxPath)),
    result: isServed ? 'served' : 'not served',
    ...(isServed && isMetadata && !servesPublicClients(server) && { lacks: 'none' as const }),
  })
}

const recordRequest = ({ server, strangers }: Recorded, { info, clientId }: SeenRequest): void => {
  if (strangers.isFirst(info.address, `request ${clientId}`))
    server.events.announce('authorization.requested', info, { clientId })
}

const recordConsent = ({ server, consents }: Recorded, { info, clientId, subject }: SeenConsent): void => {
  if (consents.isFirst(ownerOf(clientId, subject), info.address))
    server.events.announce('consent.shown', info, { clientId, subject })
}

const recordError = ({ server, strangers }: Recorded, { info, error }: SeenError): void => {
  const { code, reason, message: description, clientId, explanation } = error
  if (!strangers.isFirst(info.address, `error ${clientId} ${code} ${description}`)) return
  server.events.announce('authorization.refused', info, {
    code,
    ...(reason !== undefined && { reason }),
    description,
    ...(clientId !== undefined && { clientId }),
    ...explanation,
  })
}

const recordCall = (recorded: Recorded, seen: SeenCall): string | undefined => {
  const { accepted, refused } = seen
  if (accepted) recordAccepted(recorded, { ...seen, accepted })
  return refused && recordRefused(recorded, { ...seen, refused })
}

const record = (recorded: Recorded, seen: Sighting): string | undefined => {
  if (seen.kind === 'call') return recordCall(recorded, seen)
  if (seen.kind === 'document') recordDocument(recorded, seen)
  else if (seen.kind === 'request') recordRequest(recorded, seen)
  else if (seen.kind === 'consent') recordConsent(recorded, seen)
  else recordError(recorded, seen)
  return undefined
}

/** Forgets the acts of a client before its tokens: they say nothing about what it does with them. */
const beginAnew = ({ strangers, clients, consents }: Recorded, event: AuthEvent<'tokens.issued'>): void => {
  if (event.address !== undefined) strangers.forget(event.address)
  clients.forget(ownerOf(event.clientId, event.subject))
  consents.forget(ownerOf(event.clientId, event.subject))
}

/**
 * Announces an event for what is seen of clients: once for each thing and window of time, so that strangers cannot fill the table of
 * events.
 */
export const createRecorder = (server: ServerSetup): Observe => {
  const { now, events } = server
  const reached = (share: string): void => events.announce('events.limited', undefined, { of: share })
  const recorded = {
    server,
    strangers: createOnce({ ...ofStrangers, now, shareOf: networkIn, reached }),
    clients: createOnce({ ...ofClients, now, shareOf: (owner) => owner, reached }),
    consents: createOnce({
      ...ofClients,
      seconds: ofStrangers.seconds,
      now,
      shareOf: (owner) => owner,
      reached,
    }),
  }
  server.events.listeners.on('tokens.issued', (event) => beginAnew(recorded, event))
  return (sighting) => record(recorded, sighting)
}
