import type { DetailDescription, DetailField, DetailType } from '../../options/authorization-details.ts'
import { isObject } from '../../protocol/json.ts'
import { lookUpLanguage } from '../../protocol/languages.ts'
import { HostError } from '../../protocol/problem.ts'
import { type AuthorizationDetail, detailEntry } from '../../protocol/requests/authorization-details.ts'
import type { AuthorizationRequest } from '../../protocol/requests/authorization-request.ts'
import type { ReceiptDetail } from '../../protocol/requests/consent.ts'
import { callHost } from '../../users/host-function.ts'
import type { Text } from '../../web/pages/i18n/text.ts'
import type { ConsentDetail } from '../../web/pages/page-models.ts'
import type { AuthorizationServer } from '../authorization-server.ts'

/** The part of a server on which the texts of details depend. */
export interface DetailTexts extends Pick<AuthorizationServer, 'languages'> {
  readonly options: {
    readonly protocol: Pick<AuthorizationServer['options']['protocol'], 'authorizationDetails'>
  }
}

interface Described {
  readonly description: string
  readonly details?: string
  readonly riskReason?: string
}

/** The words of the host, in the language of the page or else in the default language. */
export const hostWords = (
  { languages }: Pick<DetailTexts, 'languages'>,
  {
    description,
    details,
    riskReason,
    locales = {},
  }: Described & { readonly locales?: Readonly<Record<string, Described>> },
  language: string,
): Described & { language?: string } => {
  const tag = lookUpLanguage([language], Object.keys(locales))
  const words = tag === undefined ? undefined : locales[tag]
  if (words) return { description: words.description, details: words.details, riskReason: words.riskReason }
  const standard = languages.default
  return { description, details, riskReason, ...(language !== standard && { language: standard }) }
}

/** A type in the words of the host; its name if the host no longer has it. */
export const detailWords = (
  server: DetailTexts,
  type: string,
  language: string,
): { description: string; language?: string } => {
  const { authorizationDetails: types } = server.options.protocol
  const found = Object.hasOwn(types, type) ? types[type] : undefined
  return found ? hostWords(server, found, language) : { description: type }
}

/** Common members (RFC 9396 §2.2) have a label in each language, others are shown by their name. */
const labelOf = (path: readonly string[], text: Text): string => {
  const [name = ''] = path
  const key = `consent.detail.${name}`
  return path.length === 1 && text.has(key) ? text.plain(key) : path.join(' · ').replaceAll('_', ' ')
}

/** Stands for a value without content. */
const nothing = '–'

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null

const fieldsOf = (value: unknown, path: readonly string[], text: Text): DetailField[] => {
  if (isPlain(value) || (Array.isArray(value) && value.every(isPlain))) {
    const words = [value].flat().map((one: unknown) => {
      return typeof one === 'boolean' ? text.plain(one ? 'value.yes' : 'value.no') : String(one ?? nothing)
    })
    return [{ label: labelOf(path, text), value: words.join(', ') || nothing }]
  }
  const members = Object.entries(value as object)
  // An API may take an empty object or list as “everything”, so the page shows it.
  if (members.length === 0 && path.length > 0) return [{ label: labelOf(path, text), value: nothing }]
  return members.flatMap(([name, member]) => {
    const step = Array.isArray(value) ? String(Number(name) + 1) : name
    return fieldsOf(member, [...path, step], text)
  })
}

const isField = (value: unknown): value is DetailField =>
  isObject(value) && typeof value.label === 'string' && typeof value.value === 'string'

const isDescription = (value: unknown): value is DetailDescription =>
  isObject(value) &&
  Array.isArray(value.fields) &&
  value.fields.every(isField) &&
  [value.heading, value.button].every((words) => words === undefined || typeof words === 'string')

/** Characters of a button, so that it stays one on a phone. */
const maxButton = 60

const described = async (
  { languages }: DetailTexts,
  type: DetailType | undefined,
  detail: AuthorizationDetail,
  language: string,
): Promise<DetailDescription> => {
  const { type: _, ...members } = detail
  if (type?.describe === undefined) return { fields: fieldsOf(members, [], languages.text(language)) }
  const result: unknown = await callHost('protocol.authorizationDetails.describe', () =>
    type.describe?.(detail, { language }),
  )
  const description = Array.isArray(result) ? { fields: result } : result
  if (!isDescription(description)) {
    throw new HostError(
      `describe of authorizationDetails['${detail.type}'] must return a list of { label, value }, or { heading, button, fields }`,
    )
  }
  const { heading, button, fields } = description
  return { heading, button, fields: fields.map(({ label, value }) => ({ label, value })) }
}

/** The objects of a request in the words of the page. */
export const consentDetails = async (
  server: DetailTexts,
  { authorizationDetails = [] }: AuthorizationRequest,
  language: string,
): Promise<ConsentDetail[]> => {
  const details: ConsentDetail[] = []
  for (const detail of authorizationDetails) {
    const type = server.options.protocol.authorizationDetails[detail.type]
    const { heading, button, fields } = await described(server, type, detail, language)
    const words = heading
      ? { description: heading, isNamed: true }
      : detailWords(server, detail.type, language)
    const isShort = button && [...button].length <= maxButton
    details.push({
      detail,
      ...words,
      fields,
      ...(isShort && { button }),
      ...(type?.partial !== undefined && { partial: type.partial }),
    })
  }
  return details
}

/** The details as a receipt keeps them. */
export const receiptDetails = (
  { options }: DetailTexts,
  details: readonly ConsentDetail[],
  meaningOf: (entry: string) => string,
): ReceiptDetail[] =>
  details.map(({ detail, description, fields, button }) => ({
    name: detailEntry(detail),
    detail,
    text: description,
    fields,
    ...(button !== undefined && { button }),
    meaning: meaningOf(detailEntry(detail)),
    remembered: options.protocol.authorizationDetails[detail.type]?.remember === true,
  }))
