import type { AuthorizationRequest } from './authorization-request.ts'

/** A workspace of a host that serves several: an organisation, a team, a company. */
export interface Organization {
  /** Never changes and is never given to another one: 1 to 255 characters. */
  readonly id: string
  /** What people call it. */
  readonly name: string
}

const longest = 255

// What a form could not bring back as it was; and MariaDB compares texts as if padded with spaces.
const isId = (id: unknown): id is string =>
  typeof id === 'string' &&
  id !== '' &&
  id.length <= longest &&
  !/[\p{Cc}\p{Cs}\ufffd]/u.test(id) &&
  id === id.trim()

/**
 * The workspaces of a user as the host tells them, each reduced to what is used of it.
 *
 * @throws TypeError that says what is wrong, for the host's log; no id or name is in it
 */
export const parseOrganizations = (answer: unknown): Organization[] => {
  if (!Array.isArray(answer)) throw new TypeError('organizations must return a list')
  const organizations = answer.map((organization: unknown): Organization => {
    if (
      typeof organization !== 'object' ||
      organization === null ||
      !('id' in organization) ||
      !('name' in organization)
    ) {
      throw new TypeError('organizations must return objects with an id and a name')
    }
    const { id, name } = organization
    if (!isId(id)) {
      throw new TypeError(
        `organizations must return ids that are text of 1 to ${longest} characters, without control characters or spaces around it`,
      )
    }
    if (typeof name !== 'string' || name.trim() === '') {
      throw new TypeError('organizations must return names that are text and not empty')
    }
    return { id, name }
  })
  if (new Set(organizations.map(({ id }) => id)).size < organizations.length) {
    throw new TypeError('organizations must return each id once')
  }
  return organizations
}

/** Whether one of these has this id. */
export const isAmong = (organizations: readonly Organization[], id: string | undefined): id is string =>
  id !== undefined && organizations.some((organization) => organization.id === id)

/**
 * The workspace that a user last allowed a client, or used it in, of those that they still belong to. Of two in the
 * same second nobody knows which was the last.
 *
 * @param consents the one that was used last first
 */
export const lastOrganization = (
  consents: readonly { readonly organization: string; readonly updatedAt: number }[],
  organizations: readonly Organization[] | undefined = [],
): string | undefined => {
  const [last, before] = consents.filter(({ organization }) => isAmong(organizations, organization))
  return last?.updatedAt === before?.updatedAt ? undefined : last?.organization
}

/** Everything that decides for which workspace a request is. */
export interface OrganizationQuestion {
  readonly request: Pick<AuthorizationRequest, 'organization' | 'prompt'>
  /** Those that the user belongs to at this moment; undefined where the host knows none at all. */
  readonly organizations: readonly Organization[] | undefined
  /** What the user chose for this request, under the login that they have. */
  readonly chosen?: string
  /** What the user last allowed this client. */
  readonly remembered?: string
}

export type OrganizationChoice =
  /** For this one; undefined where the host knows none. */
  | { readonly outcome: 'settled'; readonly organization: string | undefined }
  /** The user must choose. */
  | { readonly outcome: 'open' }
  | { readonly outcome: 'denied'; readonly description: string }

/**
 * For which workspace a request is, in order: the one that it names, the one that was chosen for it, the only one.
 * What was chosen some other time is taken only where nobody can be asked; a person might want another one today.
 *
 * @example chooseOrganization({ request, organizations: [{ id: 'acme', name: 'Acme' }] }) // { outcome: 'settled', organization: 'acme' }
 */
export const chooseOrganization = ({
  request,
  organizations,
  chosen,
  remembered,
}: OrganizationQuestion): OrganizationChoice => {
  if (organizations === undefined) return { outcome: 'settled', organization: undefined }
  const [only, another] = organizations
  if (only === undefined) return { outcome: 'denied', description: 'the user belongs to no workspace' }
  if (request.organization !== undefined) {
    return isAmong(organizations, request.organization)
      ? { outcome: 'settled', organization: request.organization }
      : { outcome: 'denied', description: 'organization does not name a workspace of the user' }
  }
  if (isAmong(organizations, chosen)) return { outcome: 'settled', organization: chosen }
  if (another === undefined) return { outcome: 'settled', organization: only.id }
  const isSilent = request.prompt.includes('none')
  if (isSilent && isAmong(organizations, remembered)) return { outcome: 'settled', organization: remembered }
  return { outcome: 'open' }
}
