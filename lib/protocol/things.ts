import { misleading } from './clients/client-metadata-checks.ts'
import { isHostId, maxHostId } from './host-id.ts'
import { isObject } from './json.ts'

/** A thing that users choose, as the host describes it. */
export interface Thing {
  /** At most 255 characters; never changes and is never reused. */
  readonly id: string
  /** Its name on the pages. */
  readonly name: string
  /** One short line that tells it from others. */
  readonly detail?: string
  /** A heading that things share, such as the name of a team. */
  readonly group?: string
}

const textMember = (thing: Readonly<Record<string, unknown>>, name: 'detail' | 'group'): object => {
  const value = thing[name] ?? ''
  if (typeof value !== 'string') throw new TypeError(`each ${name} must be a string`)
  return value.trim() === '' ? {} : { [name]: value }
}

/** A name without the characters that would show it as another. */
const shownName = (name: string, id: string): string =>
  Array.from(name, (character) => (misleading.test(character) ? '' : character))
    .join('')
    .trim() || id

/**
 * Checks things that a function of the host returned. The same id twice counts once.
 *
 * @param most how many are read; the rest is dropped
 * @throws TypeError that names the problem, for the host's log, without any id or name
 */
export const parseThings = (returned: unknown, most: number): readonly Thing[] => {
  if (!Array.isArray(returned)) throw new TypeError('it must return a list of things')
  const things = new Map<string, Thing>()
  for (const thing of returned.slice(0, most) as unknown[]) {
    if (!isObject(thing)) throw new TypeError('each thing must be an object with an id and a name')
    const { id, name } = thing
    if (!isHostId(id))
      throw new TypeError(
        `each id must be a string of 1 to ${maxHostId} characters, without control characters or surrounding spaces`,
      )
    if (typeof name !== 'string' || name.trim() === '')
      throw new TypeError('each name must be a string that is not empty')
    if (!things.has(id))
      things.set(id, {
        id,
        name: shownName(name, id),
        ...textMember(thing, 'detail'),
        ...textMember(thing, 'group'),
      })
  }
  return [...things.values()]
}
