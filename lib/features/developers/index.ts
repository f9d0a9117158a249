import { ownPath } from '../../web/http/urls.ts'
import { type AboutUsers, type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { approveEnabled, type DeveloperAdministration, developerAdministration } from './administration.ts'
import { clientPage, deletePage, rotatePage } from './client-page.ts'
import { codePage, codePath } from './code-page.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { editPage, newPage } from './form-page.ts'
import { listPage } from './list-page.ts'
import { clientOwners } from './migration.ts'
import { assertDeveloperOption, type DeveloperOption, members, quotas } from './option.ts'
import { clientPath, listPath, permission } from './page.ts'
import { exportClientsOf, releaseClientsOf } from './register.ts'
import { requestPage } from './request-page.ts'
import { requestsPage } from './requests-page.ts'
import {
  deleteClientOwner,
  findClientOwner,
  listClientIdsOfOwner,
  listOwnedClientIds,
  listWaiting,
} from './table.ts'
import { texts } from './texts/index.ts'
import { operatorTexts } from './texts/operator.ts'

export type { DeveloperAdministration, DeveloperClient, DeveloperDecision } from './administration.ts'
export type { OwnerStatus } from './table.ts'

const pages = [listPage, newPage, clientPage, codePage, editPage, rotatePage, deletePage]

/** Pages about one client have its id in their URL. */
const ofClient = { isLinked: false, parameters: ['client_id'] }

/** What the router has with `developers()`. */
export interface WithDevelopers {
  /** Lists and decides about the clients of your users. */
  readonly developers: DeveloperAdministration
}

const activate = (option: DeveloperOption): ActiveFeature<WithDevelopers> => ({
  pages: pages.map((page) => page(option)),
  operatorPages: [requestsPage(option), requestPage(option)],
  accountPages: [
    {
      page: 'developer',
      path: listPath,
      isOffered: async (context, user) => (await permission(context, option, user)) !== undefined,
    },
    { page: 'developer-form', path: '/developer/new', isLinked: false },
    { page: 'developer-client', path: clientPath, ...ofClient },
    { page: 'developer-code', path: codePath, ...ofClient },
    { page: 'developer-form', path: '/developer/edit', ...ofClient },
    { page: 'developer-confirm', path: '/developer/rotate', ...ofClient },
    { page: 'developer-confirm', path: '/developer/delete', ...ofClient },
  ],
  clientPageFor: async (context, active, clientId) => {
    if (active === undefined) return undefined
    const { server } = context
    const owner = await findClientOwner(server.database, { clientId })
    if (owner?.subject !== active.login.subject) return undefined
    const mayOpen = (await permission(context, option, active.user)) !== undefined
    return mayOpen ? ownPath(server, clientPath, { client_id: clientId }) : undefined
  },
  hostApi: (server) => ({ developers: developerAdministration({ ...server, option, logos: server }) }),
})

const definition: FeatureDefinition = {
  name: 'developers',
  migrations: new Map([['developers_001', clientOwners]]),
  texts,
  events: eventDescriptions,
  operatorTexts,
  userData: {
    export: exportClientsOf,
    revoke: async () => {},
    erase: releaseClientsOf,
  },
  clientData: {
    erase: async (database, clientId) => void (await deleteClientOwner(database, { clientId })),
    enable: approveEnabled,
    ownerOf: async (database, clientId) => (await findClientOwner(database, { clientId }))?.subject,
    approvalOf: async (database, clientId) => {
      const owner = await findClientOwner(database, { clientId })
      if (owner === undefined || owner.approvedAt !== null) return undefined
      return owner.status === 'refused' ? 'refused' : 'waiting'
    },
    listOwned: listOwnedClientIds,
    listOwnedBy: (database, subject) => listClientIdsOfOwner(database, { subject }),
    listWaiting,
  },
  expired: [],
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

const made = defineFeature(definition, {
  name: 'developers',
  members,
  quotas,
  complete: (given, options) => {
    assertDeveloperOption(given, options)
    return given
  },
  activate,
})

/**
 * Clients that users register at `/developer`: docs/developers.md.
 *
 * @example developers({ allow: (user) => user.plan === 'pro' })
 */
export const developers = made as AboutUsers<typeof made, 'allow'>
