import type { Client } from './client.ts'
import { OAuthError, type ResponseMode, responseModes } from './errors.ts'
import { parseJsonObject } from './json.ts'
import { Parameters } from './parameters.ts'
import { isFrontChannel } from './response-type.ts'

/** The modes that a client may use: those that it registered, or by default all. */
const modesOf = ({ metadata }: Client): readonly ResponseMode[] => metadata.response_modes ?? responseModes

/** Tokens are never sent in a query, even on request (Multiple Response Types §5). */
const isPossible = (mode: ResponseMode, responseType: string): boolean =>
  mode !== 'query' || !isFrontChannel(responseType)

const defaultMode = (responseType: string): ResponseMode =>
  isFrontChannel(responseType) ? 'fragment' : 'query'

/** The mode of the responses, errors included: the requested one, or the default, or another that the client registered. */
const chooseMode = (requested: string | undefined, responseType: string, client: Client): ResponseMode => {
  const registered = modesOf(client)
  const usable = registered.filter((mode) => isPossible(mode, responseType))
  const asked = usable.find((mode) => mode === requested)
  const standard = usable.find((mode) => mode === defaultMode(responseType))
  return asked ?? standard ?? usable[0] ?? registered[0] ?? defaultMode(responseType)
}

/**
 * What a request object says about the response. It is refused, but the client expects the refusal as it asked for all
 * responses in the object (OIDC Core §6.1). Nothing is verified, and an unreadable object says nothing.
 */
const saidInObject = (parameters: Parameters): Parameters => {
  const [, payload = ''] = parameters.first('request')?.split('.') ?? []
  const object = parseJsonObject(Buffer.from(payload, 'base64url').toString('utf8')) ?? {}
  return Parameters.from(
    ['state', 'response_mode'].flatMap((name): [string, string][] => {
      const value = Object.hasOwn(object, name) ? object[name] : undefined
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}

/** The state; undefined if it has characters that a URL must not have. */
const printableState = (parameters: Parameters): string | undefined => {
  try {
    return parameters.optional('state')
  } catch {
    return undefined
  }
}

/**
 * How a request is to be answered, also if it is refused: with its `state`, in a mode that its client may use.
 *
 * @throws OAuthError `invalid_request` if `state` is so long that no response could contain it (RFC 6749 §4.1.2.1)
 */
export const responseSettings = (
  parameters: Parameters,
  client: Client,
): { readonly state: string | undefined; readonly responseMode: ResponseMode } => {
  parameters.assertLength('state')
  const object = saidInObject(parameters)
  const requested = object.first('response_mode') ?? parameters.first('response_mode')
  const responseType = parameters.first('response_type') ?? ''
  return {
    state: printableState(object) ?? printableState(parameters),
    responseMode: chooseMode(requested, responseType, client),
  }
}

/**
 * Refuses a `response_mode` that is unknown, impossible for the response type, or not registered.
 *
 * @throws OAuthError `invalid_request`
 */
export const assertResponseMode = (mode: string | undefined, responseType: string, client: Client): void => {
  const known = mode === undefined ? defaultMode(responseType) : responseModes.find((one) => one === mode)
  if (known === undefined || !isPossible(known, responseType)) {
    throw new OAuthError('invalid_request', 'response_mode is not supported for this response_type')
  }
  const registered = modesOf(client)
  if (!registered.includes(known)) {
    throw new OAuthError(
      'invalid_request',
      `response_mode must be ${registered.join(' or ')} for this client`,
    )
  }
}
