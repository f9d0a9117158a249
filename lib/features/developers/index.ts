import type { ActiveFeature, Feature } from '../../feature.ts'
import { developerAdministration } from './administration.ts'
import { clientPage, deletePage, rotatePage } from './client-page.ts'
import { editPage, newPage } from './form-page.ts'
import { listPage } from './list-page.ts'
import { clientOwners } from './migration.ts'
import { type DeveloperOption, option } from './option.ts'
import { clientPath, listPath } from './page.ts'
import { exportClientsOf, releaseClientsOf } from './register.ts'
import { requestsPage } from './requests-page.ts'
import { approveEnabledClient, deleteClientOwner, listOwnedClientIds } from './table.ts'
import { texts } from './texts/index.ts'
import { operatorTexts } from './texts/operator.ts'

export type { DeveloperAdministration, DeveloperClient, DeveloperDecision } from './administration.ts'
export type { OwnerStatus } from './table.ts'

const pages = [listPage, newPage, clientPage, editPage, rotatePage, deletePage]

/** Pages about one client have its id in their URL. */
const ofClient = { isLinked: false, parameters: ['client_id'] }

const activate = (option: DeveloperOption): ActiveFeature => ({
  pages: pages.map((page) => page(option)),
  operatorPages: [requestsPage(option)],
  accountPages: [
    { page: 'developer', path: listPath, isLinked: false },
    { page: 'developer-form', path: '/developer/new', isLinked: false },
    { page: 'developer-client', path: clientPath, ...ofClient },
    { page: 'developer-form', path: '/developer/edit', ...ofClient },
    { page: 'developer-confirm', path: '/developer/rotate', ...ofClient },
    { page: 'developer-confirm', path: '/developer/delete', ...ofClient },
  ],
  hostApi: (server) => ({ developers: developerAdministration({ ...server, option, logos: server }) }),
})

/** Clients that users register at `/developer`. */
export const developers: Feature = {
  name: 'developers',
  option,
  migrations: new Map([['105_client_owners', clientOwners]]),
  texts,
  operatorTexts,
  userData: {
    export: exportClientsOf,
    revoke: async () => {},
    erase: releaseClientsOf,
  },
  clientData: {
    erase: async (database, clientId) => void (await deleteClientOwner(database, { clientId })),
    enable: approveEnabledClient,
    listOwned: listOwnedClientIds,
  },
  expired: [],
  tools: () => import('./tools.ts').then(({ tools }) => tools),
  activate: ({ features: { developers: given } }) => given && activate(given),
}
