import type { ScopePreview } from '../../options/scopes.ts'
import { claimNames } from '../../protocol/claims.ts'
import { isObject } from '../../protocol/json.ts'
import { parseEntry } from '../../protocol/requests/consent.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import type { Text } from '../../web/pages/i18n/text.ts'
import type { ConsentScope } from '../../web/pages/page-models.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import type { ScopeTexts } from './consent-scopes.ts'
import { scopeOptions } from './context.ts'

const groups: readonly ConsentScope['group'][] = ['identity', 'read', 'change', 'other', 'offline']

/** Claims that tell the user nothing: identifiers, and facts about other claims. */
const isTechnical = (name: string): boolean =>
  name === 'sub' || name === 'updated_at' || name.endsWith('_verified')

/** Claims whose value needs no label. */
const selfExplanatory = new Set([
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'email',
  'phone_number',
  'address',
  'website',
])
const partsOfName = new Set(['given_name', 'family_name', 'middle_name'])

const valueInWords = (name: string, value: unknown, text: Text): string => {
  if (typeof value === 'boolean') return text.plain(value ? 'value.yes' : 'value.no')
  if (name === 'locale' && typeof value === 'string') return text.languageName(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const { formatted } = value as { formatted?: unknown }
  return typeof formatted === 'string' ? formatted : Object.values(value).filter(Boolean).join(', ')
}

const datum = (name: string, value: unknown, text: Text): string => {
  const key = `claim.${name}`
  const claim = text.has(key) ? text.plain(key) : name.replaceAll('_', ' ')
  if (name === 'picture' || name === 'profile') return claim
  const words = valueInWords(name, value, text)
  return selfExplanatory.has(name) ? words : text.plain('consent.datum', { claim, value: words })
}

/** The scopes with the user's values: each value is shown once, with a scope that the user cannot untick if one reveals it. */
const withData = (
  server: ScopeTexts,
  scopes: readonly ConsentScope[],
  claims: Readonly<Record<string, unknown>>,
  text: Text,
): ConsentScope[] => {
  const reveals = ({ name }: ConsentScope, claim: string): boolean =>
    parseEntry(name).claim === claim || claimNames([name], server.scopeClaims).includes(claim)
  const data = new Map<ConsentScope, Set<string>>(scopes.map((scope) => [scope, new Set()]))
  for (const [claim, value] of Object.entries(claims)) {
    const isRepeated = isTechnical(claim) || (partsOfName.has(claim) && claims.name !== undefined)
    const owners = isRepeated ? [] : scopes.filter((scope) => reveals(scope, claim))
    const owner = owners.find(({ optional }) => !optional) ?? owners[0]
    if (owner) data.get(owner)?.add(datum(claim, value, text))
  }
  return scopes.map((scope) => ({ ...scope, data: [...(data.get(scope) ?? [])] }))
}

/** Whether a scope can be part of the one row that says who the user is. */
const isPlainIdentity = (server: ScopeTexts, scope: ConsentScope): boolean =>
  scope.group === 'identity' &&
  !scope.optional &&
  scope.isHighRisk !== true &&
  !Object.hasOwn(server.options.scopes, scope.name)

/**
 * The rows of the consent page in their order. What tells the client who the user is, and cannot be unticked, is one row
 * with the user's values.
 *
 * @param scopes what the client asks for
 * @param claims the user's claims that they reveal
 */
export const consentRows = (
  server: ScopeTexts,
  scopes: readonly ConsentScope[],
  claims: Readonly<Record<string, unknown>>,
  language: string,
): ConsentScope[] => {
  const text = server.languages.text(language)
  const rows = withData(server, scopes, claims, text)
  const identity = rows.filter((row) => isPlainIdentity(server, row))
  const [first, ...more] = identity
  const merged = first && {
    ...first,
    ...(more.length > 0 && { description: text.plain('consent.identity'), language: undefined }),
    isNew: identity.some(({ isNew }) => isNew),
    data: [...new Set(identity.flatMap(({ data = [] }) => data))],
  }
  const others = rows.filter((row) => !identity.includes(row))
  const all = merged ? [merged, ...others] : others
  return groups.flatMap((group) => all.filter((row) => row.group === group))
}

type Preview = NonNullable<ConsentScope['preview']>

/** The most examples on the page, and the most characters of each. */
const mostItems = 3
const mostCharacters = 60

/** Milliseconds that the page waits for examples: it is complete without them. */
const previewTimeout = 2000

const oneLine = (item: string): string => {
  // A character has at most two units, and more than the host's first thousand are not read.
  const characters = [
    ...item
      .slice(0, 1000)
      .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim(),
  ]
  const isWhole = characters.length <= mostCharacters && item.length <= 1000
  return isWhole
    ? characters.join('')
    : `${characters
        .slice(0, mostCharacters - 1)
        .join('')
        .trimEnd()}…`
}

/**
 * The examples of a host as the page shows them: the first three, each on one line and at most 60 characters long, and
 * the number of all others.
 *
 * @param value the result of the option `preview` of a scope
 * @returns undefined if there are none
 * @throws TypeError if it is neither a list of texts nor `{ items, more }`
 * @example shownPreview(['a', 'b', 'c', 'd']) // { items: ['a', 'b', 'c'], more: 1 }
 */
export const shownPreview = (value: unknown): Preview | undefined => {
  const { items, more } = Array.isArray(value) ? { items: value, more: 0 } : isObject(value) ? value : {}
  const isPreview =
    Array.isArray(items) && typeof more === 'number' && Number.isSafeInteger(more) && more >= 0
  const first: readonly unknown[] = isPreview ? items.slice(0, mostItems) : []
  if (!isPreview || !first.every((item) => typeof item === 'string'))
    throw new TypeError(
      'it must return a list of texts, or { items, more } with a list of texts and a number',
    )
  const lines = first.map(oneLine).filter((line) => line !== '')
  return lines.length > 0 ? { items: lines, more: more + items.length - first.length } : undefined
}

const previewOf = async (
  { options }: Pick<AuthorizationServer, 'options'>,
  name: string,
  user: User,
): Promise<Preview | undefined> => {
  const scope = parseEntry(name).scope
  const preview = scope === undefined ? undefined : scopeOptions({ options }, scope)?.preview
  if (preview === undefined) return undefined
  try {
    const result: ScopePreview = await callHost(
      `scopes['${scope}'].preview`,
      () => preview(user.record),
      previewTimeout,
    )
    return shownPreview(result)
  } catch (error) {
    options.logger.error(`latchkey: the consent page has no preview of ${scope}`, error)
    return undefined
  }
}

/**
 * The scopes with examples of what they are about, for the user only. They are no part of what the user agrees to, so they
 * may differ when the form comes back. An error of the host is logged, and the page shows no examples.
 *
 * @param user who reads the page
 */
export const withPreviews = (
  server: Pick<AuthorizationServer, 'options'>,
  scopes: readonly ConsentScope[],
  user: User,
): Promise<ConsentScope[]> =>
  Promise.all(
    scopes.map(async (scope) => {
      const preview = await previewOf(server, scope.name, user)
      return preview ? { ...scope, preview } : scope
    }),
  )
