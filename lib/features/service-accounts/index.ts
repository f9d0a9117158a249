import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { confirmAccountPage, serviceAccountPage } from './account-page.ts'
import { type ServiceAccountAdministration, serviceAccountAdministration } from './administration.ts'
import { organizationData, userData } from './data.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { editAccountPage, newAccountPage } from './form-page.ts'
import { accountsPage } from './list-page.ts'
import { serviceAccountSecrets, serviceAccountsTable } from './migration.ts'
import { members, quotas, type ServiceAccountOption, serviceAccountOption } from './option.ts'
import { removeAccountRows } from './table.ts'
import { texts } from './texts/index.ts'
import { noteUse } from './use.ts'

export type {
  CreatedServiceAccount,
  NewServiceAccount,
  ServiceAccount,
  ServiceAccountAdministration,
} from './administration.ts'

/** Members of the router with `serviceAccounts()`. */
export interface WithServiceAccounts {
  /** Manages the service accounts of organizations. */
  readonly serviceAccounts: ServiceAccountAdministration
}

const activate = (option: ServiceAccountOption): ActiveFeature<WithServiceAccounts> => ({
  organization: {
    pages: [
      accountsPage(option),
      newAccountPage(option),
      serviceAccountPage,
      editAccountPage(option),
      confirmAccountPage(option),
    ],
  },
  oauth: { ownedClients: [noteUse] },
  api: (server) => ({ serviceAccounts: serviceAccountAdministration(server, option) }),
})

const definition: FeatureDefinition = {
  name: 'service-accounts',
  storage: {
    migrations: new Map([
      ['service_accounts_001', serviceAccountsTable],
      ['service_accounts_002', serviceAccountSecrets],
    ]),
    users: userData,
    clients: { erase: removeAccountRows },
    organizations: organizationData,
    expired: [],
  },
  texts: { pages: texts },
  events: eventDescriptions,
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

/**
 * Programs that act for an organization, which its administrators manage on pages of their own: docs/service-accounts.md.
 *
 * @example serviceAccounts({ scopes: ['orders:read'] })
 */
export const serviceAccounts = defineFeature(definition, {
  name: 'serviceAccounts',
  members,
  limits: { quotas },
  complete: serviceAccountOption,
  activate,
})
