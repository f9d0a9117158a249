import {
  type AuthorizationTarget,
  plainResponseModes,
  type ResponseDelivery,
  type ResponseMode,
  responseModes,
} from '../errors.ts'
import { parseJwtPart } from '../json.ts'
import { Parameters } from '../parameters.ts'
import { refusal } from '../refusal.ts'
import type { SigningAlgorithm } from '../signing-algorithms.ts'

/** One of the values in a `response_type`: what the authorization response carries (Multiple Response Types §3, §5). */
export type ResponsePart = 'code' | 'token' | 'id_token'

/**
 * Response types that return tokens in the front channel. They are deprecated (RFC 9700 §2.1.2): tokens in URLs leak
 * through history, logs and scripts, and are not bound to the client that requested them. Off by default.
 */
export const frontChannelResponseTypes = [
  'token',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
] as const

/** Sorts the values, whose order has no meaning (Multiple Response Types §3), so that response types can be compared. */
export const normalResponseType = (value: string): string =>
  [...new Set(value.split(' ').filter((word) => word !== ''))].sort().join(' ')

/** @example returnsPart('code id_token', 'code') // true */
export const returnsPart = (responseType: string, part: ResponsePart): boolean =>
  responseType.split(' ').includes(part)

/** Whether a response of this type carries a token, which must not be sent in a query (Multiple Response Types §5). */
export const isFrontChannel = (responseType: string): boolean =>
  returnsPart(responseType, 'token') || returnsPart(responseType, 'id_token')

/** A client, as far as it decides how its responses are sent. */
interface AnsweredClient {
  readonly clientId: string
  readonly metadata: {
    readonly response_modes?: readonly ResponseMode[]
    readonly authorization_signed_response_alg?: SigningAlgorithm
  }
}

/** The modes that a client may use: those that it registered, or by default all; signed ones if it registered how. */
const modesOf = ({ metadata }: AnsweredClient): readonly ResponseMode[] => {
  const { response_modes: registered, authorization_signed_response_alg: algorithm } = metadata
  return registered ?? (algorithm === undefined ? plainResponseModes : responseModes)
}

/** Tokens are never sent in a query, even on request (Multiple Response Types §5, JARM §2.3.1). */
const isPossible = (mode: ResponseDelivery, responseType: string): boolean =>
  !mode.startsWith('query') || !isFrontChannel(responseType)

const defaultMode = (responseType: string): 'fragment' | 'query' =>
  isFrontChannel(responseType) ? 'fragment' : 'query'

/** `jwt` is the default mode of the response type, signed (JARM §2.3.4). */
const deliveryOf = (mode: ResponseMode, responseType: string): ResponseDelivery =>
  mode === 'jwt' ? `${defaultMode(responseType)}.jwt` : mode

/** The mode of the responses, errors included: the requested one, or the default, or another that the client registered. */
const chooseMode = (
  requested: string | undefined,
  responseType: string,
  client: AnsweredClient,
): ResponseDelivery => {
  const registered = modesOf(client).map((mode) => deliveryOf(mode, responseType))
  const usable = registered.filter((mode) => isPossible(mode, responseType))
  const known = responseModes.find((mode) => mode === requested)
  const asked = usable.find((mode) => known && mode === deliveryOf(known, responseType))
  const standard = usable.find((mode) => mode === defaultMode(responseType))
  return asked ?? standard ?? usable[0] ?? registered[0] ?? defaultMode(responseType)
}

/**
 * The parameters of a request object about the response. It is refused, but the client expects the refusal as it asked for all
 * responses in the object (OIDC Core §6.1). Nothing is verified, and an unreadable object says nothing.
 */
const saidInObject = (parameters: Parameters): Parameters => {
  const request = parameters.first('request')
  if (request === undefined) return Parameters.from([])
  const [, payload = ''] = request.split('.')
  const object = parseJwtPart(payload) ?? {}
  return Parameters.from(
    ['state', 'response_mode'].flatMap((name): [string, string][] => {
      const value = Object.hasOwn(object, name) ? object[name] : undefined
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}

/** The state, however long; undefined if it is repeated or has characters that a URL must not have. */
const printableState = (parameters: Parameters): string | undefined => {
  try {
    return parameters.optional('state', Number.POSITIVE_INFINITY)
  } catch {
    return undefined
  }
}

/** The signing of responses of a mode; nothing for unsigned modes. `RS256` is the default of JARM §3. */
export const signingFor = (
  mode: ResponseDelivery,
  { clientId, metadata }: AnsweredClient,
): Pick<AuthorizationTarget, 'signing'> =>
  mode.endsWith('.jwt')
    ? { signing: { clientId, algorithm: metadata.authorization_signed_response_alg ?? 'RS256' } }
    : {}

/**
 * The way to answer a request, also if it is refused: with its `state`, even one that is too long (RFC 6749 §4.1.2.1), in a
 * mode that its client may use.
 */
export const responseSettings = (
  parameters: Parameters,
  client: AnsweredClient,
): Omit<AuthorizationTarget, 'redirectUri'> & { readonly state: string | undefined } => {
  const object = saidInObject(parameters)
  const requested = object.first('response_mode') ?? parameters.first('response_mode')
  const responseType = parameters.first('response_type') ?? ''
  const responseMode = chooseMode(requested, responseType, client)
  const state = printableState(object) ?? printableState(parameters)
  return { state, responseMode, ...signingFor(responseMode, client) }
}

/**
 * Refuses a `response_mode` that is unknown, impossible for the response type, or not registered.
 *
 * @throws OAuthError `invalid_request`
 */
export const assertResponseMode = (
  mode: string | undefined,
  responseType: string,
  client: AnsweredClient,
): void => {
  const known = responseModes.find((one) => one === (mode ?? defaultMode(responseType)))
  const delivery = known && deliveryOf(known, responseType)
  if (delivery === undefined || !isPossible(delivery, responseType)) {
    throw refusal('response_mode_unsupported')
  }
  const registered = modesOf(client)
  if (!registered.some((one) => deliveryOf(one, responseType) === delivery)) {
    throw refusal('response_mode_unregistered', { values: { modes: registered.join(' or ') } })
  }
}
