import { refuse } from '../../options/check.ts'
import { limit } from '../../options/limits.ts'
import type { Options } from '../../options/options.ts'
import { type CheckedMembers, number, withDefault } from '../../options/schema.ts'

/** Administrators of organizations decide which apps their members may use: docs/organizations.md. */
export const members = {
  /** The most requests of one member that wait in an organization. */
  maxRequests: withDefault(10, number({ min: 1, max: 100 })),
}

export const quotas = {
  /** Requests for apps that one member makes. */
  organizationRequest: limit(30, 86_400),
}

/** The checked options. */
export type OrganizationAppsOption = CheckedMembers<typeof members>

/** @throws OptionsError without the option `organizations` */
export const assertOrganizations = ({ organizations }: Pick<Options, 'organizations'>): void => {
  if (organizations === undefined)
    refuse('organizationApps() needs the option organizations, which says who is an administrator')
}
