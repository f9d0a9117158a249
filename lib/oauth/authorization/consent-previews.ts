import type { ScopePreview } from '../../options/scopes.ts'
import { isObject } from '../../protocol/json.ts'
import { parseEntry } from '../../protocol/requests/consent.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import type { ConsentScope } from '../../web/pages/page-models.ts'
import type { AuthorizationServer } from '../authorization-server.ts'
import { scopeOptions } from './context.ts'

type Shown = NonNullable<ConsentScope['preview']>

/** The most examples on the page, and the most characters of each. */
const mostItems = 3
const mostCharacters = 60

/** Milliseconds that the page waits for examples: it is complete without them. */
const limit = 2000

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
export const shownPreview = (value: unknown): Shown | undefined => {
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
): Promise<Shown | undefined> => {
  const scope = parseEntry(name).scope
  const preview = scope === undefined ? undefined : scopeOptions({ options }, scope)?.preview
  if (preview === undefined) return undefined
  try {
    const result: ScopePreview = await callHost(
      `scopes['${scope}'].preview`,
      () => preview(user.record),
      limit,
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
