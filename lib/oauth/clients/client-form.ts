import { clientMembers, clientMetadataNames } from '../../protocol/clients/client-metadata.ts'
import { refuseMetadata } from '../../protocol/clients/client-metadata-checks.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { lengths } from '../../protocol/lengths.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { ClientForm, ClientFormField } from '../../web/pages/client-form-models.ts'
import type { ClientUpdate } from './register.ts'

type Kind = ClientFormField['kind']

/** Members that a form can show, each with the form of its value. */
type FieldMember = {
  [Name in keyof typeof clientMembers]: (typeof clientMembers)[Name]['form'] extends Kind ? Name : never
}[keyof typeof clientMembers]

/**
 * Fields with a form of their own: scopes are boxes to tick, as `scope` for administrators and `scopes` for developers, and
 * `other` has all members without a field.
 */
const ownKinds = { client_id: 'text', scope: 'choices', scopes: 'choices', other: 'json' } as const

/** A field of the form: a member of the metadata, or `other` for the members that have no field. */
export type ClientFieldName = FieldMember | keyof typeof ownKinds

const kindOf = (name: ClientFieldName): Kind => (isOwn(name) ? ownKinds[name] : clientMembers[name].form)

const isOwn = (name: ClientFieldName): name is keyof typeof ownKinds => Object.hasOwn(ownKinds, name)

/** The fields of a form, in display order. */
export type ClientFieldNames = readonly ClientFieldName[]

/**
 * The contents of the fields, as text: lines and chosen values are separated by line breaks, and a ticked box is `on`. A field
 * that is missing is empty.
 */
export type TypedClient = Readonly<Partial<Record<ClientFieldName, string>>>

/** The values that `choice` and `choices` offer. The first one of a `choice` may be '', for a member that is not set. */
export type ClientFieldChoices = Readonly<Partial<Record<ClientFieldName, readonly string[]>>>

type Metadata = Readonly<Record<string, unknown>>

/** UTF-16 code units. */
const maxLengths: Readonly<Record<Kind, number>> = {
  text: lengths.other,
  uri: lengths.other,
  lines: 32_768,
  choice: lengths.identifier,
  choices: lengths.identifier,
  flag: 2,
  json: 32_768,
}

const linesOf = (typed: string): string[] =>
  typed
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/**
 * The contents of the fields of a form, as typed.
 *
 * @throws OAuthError `invalid_request` if a value is repeated or too long
 */
const typedClient = (form: Parameters, names: ClientFieldNames, choices: ClientFieldChoices): TypedClient =>
  Object.fromEntries(
    names.map((name) => {
      const kind = kindOf(name)
      if (kind !== 'choices') return [name, form.verbatim(name, maxLengths[kind])?.replaceAll('\r\n', '\n')]
      const ticked = (choices[name] ?? []).filter((value) => form.verbatim(`${name}:${value}`, 2) === 'on')
      return [name, ticked.join('\n')]
    }),
  )

const membersWithoutField = (metadata: Metadata, names: ClientFieldNames): [string, unknown][] =>
  Object.entries(metadata).filter(([name]) => !names.some((field) => field === name))

/**
 * The contents of the fields for a client as it is registered.
 *
 * @param metadata also with `client_id`
 */
export const typedAs = (metadata: Metadata, names: ClientFieldNames): TypedClient =>
  Object.fromEntries(
    names.map((name) => {
      const value = metadata[name]
      if (name === 'other')
        return [name, JSON.stringify(Object.fromEntries(membersWithoutField(metadata, names)), null, 2)]
      if (name === 'scope') return [name, typeof value === 'string' ? value.replaceAll(' ', '\n') : '']
      if (Array.isArray(value)) return [name, value.join('\n')]
      if (kindOf(name) === 'flag') return [name, value === true ? 'on' : '']
      return [name, typeof value === 'string' ? value : '']
    }),
  )

/** The members without a field. One that is no longer there is removed. */
const otherMembers = (typed: string, names: ClientFieldNames, existing: Metadata): Metadata => {
  let given: unknown
  try {
    given = JSON.parse(typed.trim() || '{}')
  } catch {
    refuseMetadata('other', 'must be JSON')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return refuseMetadata('other', 'must be an object')
  const known = (name: string): boolean => clientMetadataNames.includes(name.split('#')[0] ?? '')
  for (const name of Object.keys(given)) {
    if (names.some((field) => field === name))
      refuseMetadata('other', `must not contain ${name}, which has a field above`)
    if (!known(name)) refuseMetadata('other', `must not contain ${name}, which is not client metadata`)
  }
  const removed = membersWithoutField(existing, names).filter(([name]) => known(name))
  return { ...Object.fromEntries(removed.map(([name]) => [name, null])), ...given }
}

const memberOf = (name: ClientFieldName, typed: string): unknown => {
  const kind = kindOf(name)
  // Registration takes one text, or null for all standard scopes.
  if (name === 'scope') return linesOf(typed).join(' ') || null
  if (kind === 'flag') return typed === 'on'
  if (kind === 'choices') return linesOf(typed)
  if (kind === 'lines') return typed.trim() === '' ? null : linesOf(typed)
  const value = typed.trim().replace(/\s+/g, ' ')
  return value === '' ? null : value
}

/** A client as a form describes it. */
export type ClientOfForm = ClientUpdate & { readonly client_id?: string | null }

/**
 * The metadata that a form says, for `create()` or `update()`, which check it. `null` removes a member.
 *
 * @param existing the client as it is registered, so that members without a field can be removed; {} for a new client
 * @throws OAuthError `invalid_client_metadata` if `other` is not a JSON object, or has a member that it must not have
 */
export const clientOfForm = (
  typed: TypedClient,
  names: ClientFieldNames,
  existing: Metadata = {},
): ClientOfForm => {
  const plain = names
    .filter((name) => name !== 'other')
    .map((name) => [name, memberOf(name, typed[name] ?? '')])
  const others = names.includes('other') ? otherMembers(typed.other ?? '', names, existing) : {}
  return { ...others, ...Object.fromEntries(plain) }
}

/** Errors about `redirect_uri` are about one of several (RFC 7591 §3.2.2), and scopes may be boxes to tick. */
const shownAs: Readonly<Record<string, string>> = { redirect_uri: 'redirect_uris', scope: 'scopes' }

/** The field that an error of registration is about; undefined if it names none of them. */
export const formFieldOf = (
  { parameter = '' }: OAuthError,
  names: ClientFieldNames,
): ClientFieldName | undefined => {
  const name = Object.hasOwn(shownAs, parameter) ? (shownAs[parameter] ?? parameter) : parameter
  const field = names.find((each) => each === name) ?? names.find((each) => each === parameter)
  const isOther = clientMetadataNames.includes(name) && names.includes('other')
  return field ?? (isOther ? 'other' : undefined)
}

/** Whether an error says that the form must be corrected. */
const isFormError = (error: unknown): error is OAuthError =>
  error instanceof OAuthError &&
  (error.code === 'invalid_client_metadata' || error.code === 'invalid_redirect_uri')

/**
 * The form as pages show it, with what was typed, and an error beside its field.
 *
 * @param form.error of registration
 * @example clientForm({ names, typed: typedAs(client, names), choices: { grant_types: ['authorization_code'] } })
 */
export const clientForm = ({
  names,
  typed,
  choices,
  error,
}: {
  readonly names: ClientFieldNames
  readonly typed: TypedClient
  readonly choices: ClientFieldChoices
  readonly error?: OAuthError | undefined
}): ClientForm => {
  const refused = error && formFieldOf(error, names)
  const inputs = names.map((name): ClientFormField => {
    const value = typed[name] ?? ''
    const chosen = linesOf(value)
    // A value that is no longer offered stays until another one is chosen.
    const offered = [...new Set([...(choices[name] ?? []), ...chosen])]
    const kind = kindOf(name)
    return {
      name,
      kind,
      value,
      ...((kind === 'choice' || kind === 'choices') && {
        choices: offered.map((each) => ({
          value: each,
          isChosen: kind === 'choice' ? each === value : chosen.includes(each),
        })),
      }),
      ...(error && refused === name && { error: error.message }),
    }
  })
  return { inputs, ...(error && { error: error.message }), ...(refused && { refused }) }
}

/** A form that must be corrected. */
export interface RefusedClient {
  readonly typed: TypedClient
  readonly error: OAuthError
}

/**
 * Does what a form says, or shows it again to be corrected.
 *
 * @param form as it was posted
 * @returns undefined if it was shown again
 */
export const submitClientForm = async <T>(
  form: Parameters,
  { names, choices }: { readonly names: ClientFieldNames; readonly choices: ClientFieldChoices },
  work: (typed: TypedClient) => Promise<T>,
  showAgain: (refused: RefusedClient) => void | Promise<void>,
): Promise<T | undefined> => {
  const typed = typedClient(form, names, choices)
  try {
    return await work(typed)
  } catch (error) {
    if (!isFormError(error)) throw error
    await showAgain({ typed, error })
    return undefined
  }
}
