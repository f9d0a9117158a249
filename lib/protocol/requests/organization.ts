import { isHostId, maxHostId } from '../host-id.ts'
import { isObject } from '../json.ts'
import type { AuthorizationRequest } from './authorization-request.ts'

/** An organization of a host, such as a company or a team. */
export interface Organization {
  /** 1 to 255 characters; never changes and is never reused. */
  readonly id: string
  /** Its name on the pages. */
  readonly name: string
  /** One short line that tells it from others, such as “12 members · acme.example”. */
  readonly detail?: string
  /** `admin`: the user decides for the organization, on its own pages. @default 'member' */
  readonly role?: 'admin' | 'member'
}

/**
 * Checks what the option `organizations` returned, and reduces each organization to its id, name and detail.
 *
 * @throws TypeError that names the problem, for the host's log, without any id or name
 */
export const parseOrganizations = (returned: unknown): Organization[] => {
  if (!Array.isArray(returned)) throw new TypeError('organizations must return an array')
  const organizations = returned.map((organization: unknown): Organization => {
    if (!isObject(organization) || !('id' in organization) || !('name' in organization)) {
      throw new TypeError('organizations must return objects with an id and a name')
    }
    const { id, name } = organization
    if (!isHostId(id)) {
      throw new TypeError(
        `organizations must return ids that are strings of 1 to ${maxHostId} characters, without control characters or surrounding spaces`,
      )
    }
    if (typeof name !== 'string' || name.trim() === '') {
      throw new TypeError('organizations must return names that are non-empty strings')
    }
    const detail = 'detail' in organization ? (organization.detail ?? '') : ''
    if (typeof detail !== 'string') throw new TypeError('organizations must return details that are strings')
    const role = 'role' in organization ? (organization.role ?? 'member') : 'member'
    if (role !== 'admin' && role !== 'member') {
      throw new TypeError("organizations must return roles that are 'admin' or 'member'")
    }
    return { id, name, ...(detail.trim() !== '' && { detail }), ...(role === 'admin' && { role }) }
  })
  if (new Set(organizations.map(({ id }) => id)).size < organizations.length) {
    throw new TypeError('organizations must return each id once')
  }
  return organizations
}

/** Whether one of the organizations has this id. */
export const isAmong = (organizations: readonly Organization[], id: string | undefined): id is string =>
  id !== undefined && organizations.some((organization) => organization.id === id)

/**
 * The organization in which the user last used the client, among those they still belong to. Undefined if two were used
 * in the same second.
 *
 * @param consents most recently used first
 */
export const lastOrganization = (
  consents: readonly { readonly organization: string; readonly updatedAt: number }[],
  organizations: readonly Organization[] | undefined = [],
): string | undefined => {
  const [last, before] = consents.filter(({ organization }) => isAmong(organizations, organization))
  return last?.updatedAt === before?.updatedAt ? undefined : last?.organization
}

/** Everything that decides which organization a request is for. */
export interface OrganizationContext {
  readonly request: Pick<AuthorizationRequest, 'organization' | 'prompt'>
  /** Those that the user belongs to now. */
  readonly organizations: readonly Organization[]
  /** The user's choice for this request, under the current login. */
  readonly chosen?: string
  /** Where the user last used this client. */
  readonly remembered?: string
}

export type OrganizationChoice =
  /** Undefined if the host has no organizations. */
  | { readonly outcome: 'settled'; readonly organization: string | undefined }
  /** The user must choose, or confirm the suggested one: where they last used this client. */
  | { readonly outcome: 'open'; readonly suggested?: string }
  /** `none`: the user belongs to none. `other`: not to the one that the client asks for. */
  | { readonly outcome: 'denied'; readonly lack: OrganizationLack }

/** Why there is no organization for a request. */
export type OrganizationLack = 'none' | 'other'

const lacking = (lack: OrganizationLack): OrganizationChoice => ({
  outcome: 'denied',
  lack,
})

/**
 * Decides which organization a request is for: the requested one, or else the chosen one, or else the only one.
 * A remembered one is used with `prompt=none`; otherwise it is suggested, and the user may choose another.
 *
 * @example chooseOrganization({ request, organizations: [{ id: 'acme', name: 'Acme' }] }) // { outcome: 'settled', organization: 'acme' }
 */
export const chooseOrganization = ({
  request,
  organizations,
  chosen,
  remembered,
}: OrganizationContext): OrganizationChoice => {
  const [only, another] = organizations
  if (only === undefined) return lacking('none')
  if (request.organization !== undefined) {
    return isAmong(organizations, request.organization)
      ? { outcome: 'settled', organization: request.organization }
      : lacking('other')
  }
  if (isAmong(organizations, chosen)) return { outcome: 'settled', organization: chosen }
  if (another === undefined) return { outcome: 'settled', organization: only.id }
  if (!isAmong(organizations, remembered)) return { outcome: 'open' }
  return request.prompt.includes('none')
    ? { outcome: 'settled', organization: remembered }
    : { outcome: 'open', suggested: remembered }
}
