import type { AuthorizationRequest } from './authorization-request.ts'

/** A workspace of a host that serves several: an organisation, a team, a company. */
export interface Tenant {
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
export const parseTenants = (answer: unknown): Tenant[] => {
  if (!Array.isArray(answer)) throw new TypeError('tenants must return a list')
  const tenants = answer.map((tenant: unknown): Tenant => {
    if (typeof tenant !== 'object' || tenant === null || !('id' in tenant) || !('name' in tenant)) {
      throw new TypeError('tenants must return objects with an id and a name')
    }
    const { id, name } = tenant
    if (!isId(id)) {
      throw new TypeError(
        `tenants must return ids that are text of 1 to ${longest} characters, without control characters or spaces around it`,
      )
    }
    if (typeof name !== 'string' || name.trim() === '') {
      throw new TypeError('tenants must return names that are text and not empty')
    }
    return { id, name }
  })
  if (new Set(tenants.map(({ id }) => id)).size < tenants.length) {
    throw new TypeError('tenants must return each id once')
  }
  return tenants
}

/** Whether one of these has this id. */
export const isAmong = (tenants: readonly Tenant[], id: string | undefined): id is string =>
  id !== undefined && tenants.some((tenant) => tenant.id === id)

/**
 * The workspace that a user last allowed a client, or used it in, of those that they still belong to. Of two in the
 * same second nobody knows which was the last.
 *
 * @param consents the one that was used last first
 */
export const lastTenant = (
  consents: readonly { readonly tenant: string; readonly updatedAt: number }[],
  tenants: readonly Tenant[] | undefined = [],
): string | undefined => {
  const [last, before] = consents.filter(({ tenant }) => isAmong(tenants, tenant))
  return last?.updatedAt === before?.updatedAt ? undefined : last?.tenant
}

/** Everything that decides for which workspace a request is. */
export interface TenantQuestion {
  readonly request: Pick<AuthorizationRequest, 'tenant' | 'prompt'>
  /** Those that the user belongs to at this moment; undefined where the host knows none at all. */
  readonly tenants: readonly Tenant[] | undefined
  /** What the user chose for this request, under the login that they have. */
  readonly chosen?: string
  /** What the user last allowed this client. */
  readonly remembered?: string
}

export type TenantChoice =
  /** For this one; undefined where the host knows none. */
  | { readonly outcome: 'settled'; readonly tenant: string | undefined }
  /** The user must choose. */
  | { readonly outcome: 'open' }
  | { readonly outcome: 'denied'; readonly description: string }

/**
 * For which workspace a request is, in order: the one that it names, the one that was chosen for it, the only one.
 * What was chosen some other time is taken only where nobody can be asked; a person might want another one today.
 *
 * @example chooseTenant({ request, tenants: [{ id: 'acme', name: 'Acme' }] }) // { outcome: 'settled', tenant: 'acme' }
 */
export const chooseTenant = ({ request, tenants, chosen, remembered }: TenantQuestion): TenantChoice => {
  if (tenants === undefined) return { outcome: 'settled', tenant: undefined }
  const [only, another] = tenants
  if (only === undefined) return { outcome: 'denied', description: 'the user belongs to no workspace' }
  if (request.tenant !== undefined) {
    return isAmong(tenants, request.tenant)
      ? { outcome: 'settled', tenant: request.tenant }
      : { outcome: 'denied', description: 'tenant does not name a workspace of the user' }
  }
  if (isAmong(tenants, chosen)) return { outcome: 'settled', tenant: chosen }
  if (another === undefined) return { outcome: 'settled', tenant: only.id }
  const isSilent = request.prompt.includes('none')
  if (isSilent && isAmong(tenants, remembered)) return { outcome: 'settled', tenant: remembered }
  return { outcome: 'open' }
}
