import type { Cause } from '../../events/connection-causes.ts'
import { timeOf } from '../../protocol/explanation.ts'
import type { Reason } from '../../protocol/refusal.ts'
import type { EventRecord } from '../../storage/repositories/index.ts'
import { eventText, isChallenge, rankOf, type SeenStep, type StepName } from './steps.ts'

/** Where a connection stopped, and why. */
export interface Stop {
  readonly step: StepName
  readonly cause: Cause
  /** The event that shows it; for a step that is missing, the last one before. */
  readonly event: EventRecord
}

/** Facts that decide about a connection, beside its own events. */
export interface StopContext {
  /** The identifiers of the resources. */
  readonly resources: readonly string[]
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '')
const differBySlash = (one: string, other: string): boolean =>
  one !== other && withoutSlash(one) === withoutSlash(other)
const pathOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).pathname : undefined)

/** The cause that a wrong path or resource of a call shows; undefined if they belong together. */
const misplaced = (event: EventRecord, { resources }: StopContext): Cause | undefined => {
  const [path, resource] = [eventText(event, 'path'), eventText(event, 'resource')]
  if (path === undefined || resource === undefined) return undefined
  const ownPath = pathOf(resource) ?? path
  if (path === ownPath) return undefined
  if (differBySlash(path, ownPath)) return { name: 'trailing-slash', values: { path, resource } }
  const meant = resources.find((each) => withoutSlash(pathOf(each) ?? '') === withoutSlash(path))
  return meant === undefined ? undefined : { name: 'other-guard', values: { path, resource, meant } }
}

/** The values of an event that sentences name. */
const valuesOf = (event: EventRecord): Cause['values'] => ({
  reason: eventText(event, 'description') ?? eventText(event, 'code') ?? event.type,
  expected: eventText(event, 'expected'),
  received: eventText(event, 'received'),
  path: eventText(event, 'path'),
  resource: eventText(event, 'resource'),
})

const inWords = (seconds: number): string =>
  seconds < 5400 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3600)} hours`

/** Seconds: a signed assertion or proof is made for one request, and less than this is not what stops a client. */
const minSkew = 120

/** The seconds by which times may differ for each reason before only a clock explains it. No user and no client takes so long. */
const tolerated: Partial<Readonly<Record<Reason, number>>> = {
  client_assertion_untimely: minSkew,
  assertion_untimely: minSkew,
  proof_untimely: minSkew,
  code_expired: 900,
}

/** A refusal for a time that only clocks explain. */
const wrongClock = (event: EventRecord): Cause | undefined => {
  const seconds = Number(event.details.secondsApart ?? 0)
  const least = tolerated[eventText(event, 'reason') as Reason]
  return least === undefined || seconds < least
    ? undefined
    : { name: 'clock', values: { ...valuesOf(event), difference: inWords(seconds) } }
}

const causeOfTarget = (values: Cause['values'], { resources }: StopContext): Cause => {
  const received = values.received ?? ''
  const meant = resources.find((each) => differBySlash(each, received))
  if (meant !== undefined) return { name: 'trailing-slash', values: { path: received, resource: meant } }
  return { name: 'unknown-resource', values }
}

/** Reasons whose cause needs no more than the values of the event. */
const causesOfReasons: Partial<Readonly<Record<Reason, Cause['name']>>> = {
  redirect_uri_unregistered: 'redirect-uri',
  client_disabled: 'client-disabled',
  client_waiting: 'client-disabled',
  client_refused: 'client-disabled',
  authentication_client_disabled: 'client-disabled',
  client_unknown: 'registration-deleted',
  client_document_unusable: 'document-unreadable',
  token_unknown: 'token-unknown',
  token_expired: 'token-expired',
  token_ended: 'token-ended',
  token_without_client: 'client-disabled',
  token_without_user: 'user-gone',
  token_scope_missing: 'scope-missing',
}

const causeOfReason = (event: EventRecord): Cause | undefined => {
  const name = causesOfReasons[eventText(event, 'reason') as Reason]
  return name && { name, values: valuesOf(event) }
}

/** Why an authorization request was refused. */
const causeOfRequest = (event: EventRecord, surroundings: StopContext): Cause => {
  const values = valuesOf(event)
  const code = eventText(event, 'code')
  if (code === 'invalid_target') return causeOfTarget(values, surroundings)
  if (code === 'invalid_scope') return { name: 'unknown-scope', values }
  return causeOfReason(event) ?? { name: 'request-refused', values }
}

/** Why a guard refused a call. */
const causeOfCall = (event: EventRecord, surroundings: StopContext): Cause => {
  const values = valuesOf(event)
  const reason = eventText(event, 'reason')
  if (reason === 'token_for_other_resource' || reason === 'token_of_other_resource') {
    const { path, expected, received } = values
    const isMeant =
      received !== undefined && pathOf(received) === path && surroundings.resources.includes(received)
    if (isMeant && expected !== undefined && pathOf(expected) !== undefined)
      return { name: 'other-guard', values: { path, resource: expected, meant: received } }
    return { name: 'token-for-other-resource', values }
  }
  const isAboutLogin = eventText(event, 'code') === 'insufficient_user_authentication'
  return causeOfReason(event) ?? { name: isAboutLogin ? 'login-too-weak' : 'call-refused', values }
}

/** Why a step failed. */
export const causeOf = ({ step, event }: SeenStep, surroundings: StopContext): Cause => {
  const clock = wrongClock(event)
  if (clock !== undefined) return clock
  if (event.type === 'call.refused') return causeOfCall(event, surroundings)
  if (step === 'introduced') return { name: 'registration-refused', values: valuesOf(event) }
  if (step === 'requested') return causeOfRequest(event, surroundings)
  if (step === 'signed-in') return { name: 'sign-in-failed', values: {} }
  if (step === 'allowed') return { name: 'denied', values: {} }
  if (step === 'token') {
    const values = valuesOf(event)
    if (eventText(event, 'code') === 'invalid_target') return causeOfTarget(values, surroundings)
    return causeOfReason(event) ?? { name: 'token-refused', values }
  }
  return { name: 'document-not-served', values: valuesOf(event) }
}

const last = <Item>(items: readonly Item[], test: (item: Item) => boolean): Item | undefined =>
  items.findLast(test)

const stop = (
  step: StepName,
  { event }: SeenStep,
  name: Cause['name'],
  values: Cause['values'] = {},
): Stop => ({
  step,
  event,
  cause: { name, values },
})

/** A failure is over when the client got further, or begins again and gets something. */
const isOver = (failure: SeenStep, later: readonly SeenStep[]): boolean =>
  later.some(
    ({ step, isFailure }) =>
      !isFailure &&
      step !== 'removed' &&
      (rankOf(step) > rankOf(failure.step) || ['code', 'token', 'refreshed', 'called'].includes(step)),
  )

const isForResource = ({ event: { details } }: SeenStep): boolean =>
  Array.isArray(details.resources) && details.resources.length > 0

/** After a token: whether calls come without it, or not at all. */
const afterToken = (token: SeenStep, steps: readonly SeenStep[]): Stop | undefined => {
  if (!isForResource(token)) return undefined
  const without = last(steps, ({ event }) => isChallenge(event) && event.time >= token.event.time)
  const [resource] = token.event.details.resources as readonly unknown[]
  const values = { resource: String(resource) }
  // In the second of the token it may have been the call that made the client ask for it.
  if (without && without.event.time > token.event.time)
    return stop('called', without, 'authorization-dropped', {
      ...values,
      path: eventText(without.event, 'path'),
    })
  return stop('called', token, 'never-called', values)
}

/** The next step that is missing after the last one that went well. */
const missing = (steps: readonly SeenStep[]): Stop | undefined => {
  const own = steps.filter(({ step, isFailure }) => !isFailure && rankOf(step) >= rankOf('introduced'))
  const latest = own.at(-1)
  if (latest === undefined) return undefined
  switch (latest.step) {
    case 'introduced':
      return stop('requested', latest, 'not-requested')
    case 'requested':
      return stop('signed-in', latest, 'not-signed-in')
    case 'signed-in':
      return stop('allowed', latest, 'not-allowed')
    case 'allowed':
      return stop('code', latest, 'not-allowed')
    case 'code':
      return stop('token', latest, 'not-redeemed')
    case 'token':
      return afterToken(latest, steps)
    case 'refreshed':
      return own.some(({ step }) => step === 'called') ? undefined : afterToken(latest, steps)
    default:
      return undefined
  }
}

/** Types of events that end everything of a client or user. */
const endings: Readonly<Record<string, Cause['name']>> = {
  'client.deleted': 'removed',
  'client.disabled': 'client-disabled',
}

/** A client that is gone and still comes has to be told by its user. */
const causeOfEnd = (end: SeenStep, returns: readonly SeenStep[]): Cause => {
  const values = { time: timeOf(end.event.time) }
  const comesAgain = returns.some(({ event }) => event.time >= end.event.time)
  if (end.event.type === 'client.deleted' && comesAgain) return { name: 'registration-deleted', values }
  return { name: endings[end.event.type] ?? 'removed', values }
}

/**
 * Where the connection of a client stopped.
 *
 * @param steps of the last attempt, oldest first
 * @param returns refusals of the same program, which name no client
 */
export const stopOfClient = (
  steps: readonly SeenStep[],
  returns: readonly SeenStep[],
  surroundings: StopContext,
): Stop | undefined => {
  const end = last(steps, ({ step }) => step === 'removed')
  const isEnded = end && !isOver(end, steps.slice(steps.indexOf(end) + 1))
  if (isEnded) return { step: 'removed', event: end.event, cause: causeOfEnd(end, returns) }
  const own = steps.filter(({ step }) => rankOf(step) >= rankOf('introduced'))
  const failure = last(own, ({ isFailure }) => isFailure)
  if (failure && !isOver(failure, own.slice(own.indexOf(failure) + 1)))
    return { step: failure.step, event: failure.event, cause: causeOf(failure, surroundings) }
  const stopped = missing(steps)
  const challenge = last(steps, ({ step }) => step === 'challenge')
  const wrong = challenge && misplaced(challenge.event, surroundings)
  return stopped?.cause.name === 'not-requested' && wrong ? { ...stopped, cause: wrong } : stopped
}

/** Before a client is known: what was read, and what was not. */
const missingBefore = (steps: readonly SeenStep[], surroundings: StopContext): Stop | undefined => {
  const challenge = last(steps, ({ step }) => step === 'challenge')
  const document = last(steps, ({ step, isFailure }) => step === 'resource-document' && !isFailure)
  const metadata = last(steps, ({ step, isFailure }) => step === 'metadata' && !isFailure)
  if (metadata && eventText(metadata.event, 'lacks') === 'none')
    return stop('introduced', metadata, 'no-public-clients')
  const wrong = challenge && misplaced(challenge.event, surroundings)
  // Clients compare the resource of the document with their URL, some after they have read the metadata.
  if (wrong) return { step: metadata ? 'introduced' : 'metadata', event: challenge.event, cause: wrong }
  if (metadata) return stop('introduced', metadata, 'not-introduced')
  const absent = last(steps, ({ isFailure, step }) => isFailure && step !== 'called')
  if (absent) return { step: absent.step, event: absent.event, cause: causeOf(absent, surroundings) }
  if (document) return stop('metadata', document, 'no-metadata')
  if (challenge === undefined) return undefined
  const resource = eventText(challenge.event, 'resource')
  return resource === undefined
    ? stop('resource-document', challenge, 'no-resource', valuesOf(challenge.event))
    : stop('resource-document', challenge, 'no-root-document', { resource })
}

/** Where a program stopped that no client is known of. */
export const stopOfStranger = (steps: readonly SeenStep[], surroundings: StopContext): Stop | undefined => {
  const failure = last(steps, ({ step, isFailure }) => isFailure && rankOf(step) >= rankOf('introduced'))
  if (failure) {
    const lacking = steps.some(({ event }) => eventText(event, 'lacks') === 'none')
    // A client without a secret registers in vain.
    if (lacking && failure.step === 'introduced') return stop('introduced', failure, 'no-public-clients')
    return { step: failure.step, event: failure.event, cause: causeOf(failure, surroundings) }
  }
  return missingBefore(steps, surroundings)
}
