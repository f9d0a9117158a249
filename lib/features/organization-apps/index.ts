import { removeFrom } from '../../storage/repositories/pruning/expired.ts'
import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { appRule } from './access-rule.ts'
import { activityCompanion, removeOrganizationEvents } from './activity.ts'
import { activityPage, csvPage } from './activity-page.ts'
import { type OrganizationAppAdministration, organizationAppAdministration } from './administration.ts'
import { appPage, removePage } from './app-page.ts'
import { appsPage, policyPage } from './apps-page.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { memberPage } from './member-page.ts'
import { appTables } from './migration.ts'
import { assertOrganizations, members, type OrganizationAppsOption, quotas } from './option.ts'
import { appRequestPage, appRequestsPage } from './requests-page.ts'
import {
  exportRequests,
  listWaitingRequests,
  removeRequestsAbout,
  removeRequestsIn,
  removeRequestsOfSubject,
} from './requests-table.ts'
import { forgetDecider, listAppRules, removeAppRules, removeRulesAbout } from './rules-table.ts'
import { texts } from './texts/index.ts'

export type { OrganizationAppAdministration } from './administration.ts'
export type { AppDecision, OrganizationApp, OrganizationPolicy, RequestAnswer } from './declarations.ts'
export type { AppRequest } from './requests-table.ts'
export type { AppLimit, AppOutcome, AppRule } from './rules.ts'

/** Members of the router with `organizationApps()`. */
export interface WithOrganizationApps {
  /** Decides about the apps of organizations, as their administrators do. */
  readonly organizationApps: OrganizationAppAdministration
}

const activate = (option: OrganizationAppsOption): ActiveFeature<WithOrganizationApps> => ({
  oauth: { accessRules: [appRule] },
  organization: {
    pages: [
      appsPage,
      policyPage,
      appPage,
      removePage,
      appRequestsPage,
      appRequestPage,
      activityPage,
      csvPage,
    ],
  },
  endpoints: { browsers: [memberPage(option)] },
  observe: { events: () => activityCompanion },
  api: (server) => ({ organizationApps: organizationAppAdministration(server) }),
})

const definition: FeatureDefinition = {
  name: 'organization-apps',
  storage: {
    migrations: new Map([['organization_apps_001', appTables]]),
    users: {
      export: exportRequests,
      revoke: async () => {},
      erase: async ({ database }, subject) => {
        await removeRequestsOfSubject(database, { subject })
        await forgetDecider(database, { subject })
      },
    },
    clients: {
      erase: async (database, clientId) => {
        await removeRulesAbout(database, { app: `client:${clientId}` })
        await removeRequestsAbout(database, { clientId })
      },
    },
    organizations: {
      export: async ({ database, now }, organization) => ({
        appRules: await listAppRules(database, { organization }),
        appRequests: await listWaitingRequests(database, { organization, time: 0, id: '', now: now() }),
      }),
      erase: async ({ database }, organization) => {
        await removeRequestsIn(database, { organization })
        await removeAppRules(database, { organization })
        await removeOrganizationEvents(database, { organization })
      },
    },
    expired: [removeFrom('organization_app_requests', 'id'), removeFrom('organization_events', 'id')],
  },
  texts: { pages: texts },
  events: eventDescriptions,
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

/**
 * Pages on which administrators of organizations decide which apps their members may use: docs/organizations.md.
 *
 * @example organizationApps()
 */
export const organizationApps = defineFeature(definition, {
  name: 'organizationApps',
  members,
  limits: { quotas },
  complete: (given, options) => {
    assertOrganizations(options)
    return given
  },
  activate,
})
