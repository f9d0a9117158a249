import type { Organization } from '../../protocol/requests/organization.ts'

/** From this many organizations on, the page has a search. */
const searchFrom = 8
/** Organizations on one page. */
const pageSize = 50

/** Organizations with one name and one detail also show their ids: otherwise nothing tells them apart. */
export const toldApart = (organizations: readonly Organization[]): readonly Organization[] => {
  const lookOf = ({ name, detail = '' }: Organization): string => JSON.stringify([name, detail])
  const seen = new Set<string>()
  const twins = new Set<string>()
  for (const look of organizations.map(lookOf)) (seen.has(look) ? twins : seen).add(look)
  return organizations.map((organization) => {
    if (!twins.has(lookOf(organization))) return organization
    const { id, detail } = organization
    return { ...organization, detail: detail === undefined ? id : `${detail} · ${id}` }
  })
}

/** Without accents and case, as people search. */
const plain = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** One page of the organizations to choose from. */
export interface OrganizationList {
  readonly organizations: readonly Organization[]
  /** Whether there are so many that a search helps. */
  readonly hasSearch: boolean
  /** The number that match the search, and the places of the first and last on this page among them. */
  readonly range: { readonly first: number; readonly last: number; readonly total: number }
  /** The number of this page, from 1, and whether it is the last one. */
  readonly number: number
  readonly isLast: boolean
}

/**
 * The organizations of one page: those that were used last come first, the others in the order of the host.
 *
 * @param organizations all of the user
 * @param used ids, the last used one first
 * @param search.query every word must be in the name or the detail
 * @param search.page from 1; the nearest that exists
 * @example listOrganizations(organizations, ['acme'], { query: 'nord', page: 1 })
 */
export const listOrganizations = (
  organizations: readonly Organization[],
  used: readonly string[],
  { query, page }: { readonly query: string; readonly page: number },
): OrganizationList => {
  const placeOf = new Map(used.map((id, place) => [id, place]))
  const place = ({ id }: Organization): number => placeOf.get(id) ?? used.length
  const words = plain(query).split(/\s+/).filter(Boolean)
  const isFound = ({ name, detail = '' }: Organization): boolean => {
    const text = plain(`${name} ${detail}`)
    return words.every((word) => text.includes(word))
  }
  const found = (words.length === 0 ? [...organizations] : organizations.filter(isFound)).sort(
    (one, other) => place(one) - place(other),
  )
  const last = Math.max(1, Math.ceil(found.length / pageSize))
  const number = Math.min(page, last)
  const from = (number - 1) * pageSize
  const listed = found.slice(from, from + pageSize)
  return {
    organizations: listed,
    hasSearch: organizations.length >= searchFrom,
    range: { first: from + 1, last: from + listed.length, total: found.length },
    number,
    isLast: number === last,
  }
}
