import type { EventRecord } from '../../storage/repositories/index.ts'

/** The steps of a connection, in order. */
export const connectionSteps = [
  'challenge',
  'resource-document',
  'metadata',
  'introduced',
  'requested',
  'signed-in',
  'allowed',
  'code',
  'token',
  'called',
  'refreshed',
  'step-up',
  'removed',
] as const
export type StepName = (typeof connectionSteps)[number]

/** A step that an event shows. */
export interface SeenStep {
  readonly step: StepName
  /** Whether the step was refused or failed. */
  readonly isFailure: boolean
  readonly event: EventRecord
}

/** A field of an event, if it is a string. */
export const eventText = ({ details }: EventRecord, name: string): string | undefined => {
  const value = details[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export const isResourceDocument = (event: EventRecord): boolean =>
  eventText(event, 'path')?.includes('oauth-protected-resource') ?? false

/** Before its first token a client asks without one. */
export const isChallenge = (event: EventRecord): boolean =>
  event.type === 'call.refused' && eventText(event, 'reason') === 'token_missing'

/** Where a step went on well. */
const done: Readonly<Record<string, StepName>> = {
  'client.created': 'introduced',
  'client.updated': 'introduced',
  'authorization.requested': 'requested',
  'device.requested': 'requested',
  'login.succeeded': 'signed-in',
  'consent.shown': 'signed-in',
  'consent.allowed': 'allowed',
  'authorization.issued': 'code',
  'device.authorized': 'code',
  'call.accepted': 'called',
  'consent.removed': 'removed',
  'client.deleted': 'removed',
  'client.disabled': 'removed',
  'authorization.revoked': 'removed',
  'user.revoked': 'removed',
}

const failed: Readonly<Record<string, StepName>> = {
  'login.failed': 'signed-in',
  'login.locked': 'signed-in',
  'second_factor.failed': 'signed-in',
  'consent.denied': 'allowed',
  'device.denied': 'allowed',
  'request.refused': 'requested',
  'authorization.refused': 'requested',
}

/** The types of events that show a step. */
export const stepTypes: readonly string[] = [
  ...Object.keys(done),
  ...Object.keys(failed),
  'tokens.issued',
  'call.refused',
  'api.refused',
  'document.requested',
]

/** Those of steps that no stranger can cause. If one of them is not seen, the connection seems to have stopped. */
export const provingTypes: readonly string[] = [
  'login.succeeded',
  'consent.allowed',
  'authorization.issued',
  'device.authorized',
  'tokens.issued',
  'call.accepted',
]

/** Codes of requests that must not show a page: the client asks again with one (OIDC Core §3.1.2.6). */
const silentAnswers = ['login_required', 'consent_required', 'interaction_required', 'access_denied']
const stepUpCodes = ['insufficient_scope', 'insufficient_user_authentication']

const stepOfRefusedApi = (event: EventRecord): StepName | undefined => {
  const path = eventText(event, 'path') ?? ''
  if (path.startsWith('/register')) return 'introduced'
  if (path === '/par') return 'requested'
  return path === '/token' ? 'token' : undefined
}

/** The step that an event shows; undefined if it says nothing about a connection. */
export const stepOf = (event: EventRecord): SeenStep | undefined => {
  const { type } = event
  const seen = (step: StepName, isFailure = false): SeenStep => ({ step, isFailure, event })
  if (isChallenge(event)) return seen('challenge')
  if (type === 'document.requested')
    return seen(
      isResourceDocument(event) ? 'resource-document' : 'metadata',
      eventText(event, 'result') !== 'served',
    )
  if (type === 'tokens.issued')
    return seen(eventText(event, 'grantType') === 'refresh_token' ? 'refreshed' : 'token')
  if (type === 'call.refused')
    return seen(stepUpCodes.includes(eventText(event, 'code') ?? '') ? 'step-up' : 'called', true)
  if (type === 'api.refused') {
    const step = stepOfRefusedApi(event)
    return step && seen(step, true)
  }
  if (type === 'authorization.refused' && silentAnswers.includes(eventText(event, 'code') ?? ''))
    return undefined
  const step = done[type]
  if (step !== undefined) return seen(step)
  const refused = failed[type]
  return refused && seen(refused, true)
}

/** Where a step stands among all. */
export const rankOf = (step: StepName): number => connectionSteps.indexOf(step)

/** The steps that events show, oldest first. Those of one second are in the order of a connection. */
export const stepsOf = (events: readonly EventRecord[]): SeenStep[] =>
  events
    .flatMap((event) => stepOf(event) ?? [])
    .sort((one, other) => one.event.time - other.event.time || rankOf(one.step) - rankOf(other.step))
