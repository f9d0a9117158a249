import { ownPath } from '../../web/http/urls.ts'
import { type AboutUsers, type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { approveEnabled, type DeveloperAdministration, developerAdministration } from './administration.ts'
import { deletePage, developerClientPage, rotatePage } from './client-page.ts'
import { snippetPage } from './code-page.ts'
import { eventDescriptions } from './event-descriptions.ts'
import { editPage, newPage } from './form-page.ts'
import { listPage } from './list-page.ts'
import { clientOwners } from './migration.ts'
import { assertDeveloperOption, type DeveloperOption, members, quotas } from './option.ts'
import { clientPath, permission } from './page.ts'
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

/** Pages about one client have its id in their URL. */
const ofClient = { isLinked: false, parameters: ['client_id'] }

/** Members of the router with `developers()`. */
export interface WithDevelopers {
  /** Lists and decides about the clients of your users. */
  readonly developers: DeveloperAdministration
}

const activate = (option: DeveloperOption): ActiveFeature<WithDevelopers> => ({
  operators: { pages: [requestsPage(option), requestPage(option)] },
  account: [
    {
      page: 'developer',
      endpoint: listPage(option),
      isOffered: async (context, user) => (await permission(context, option, user)) !== undefined,
    },
    { page: 'developer-form', endpoint: newPage(option), isLinked: false },
    { page: 'developer-client', endpoint: developerClientPage(option), ...ofClient },
    { page: 'developer-code', endpoint: snippetPage(option), ...ofClient },
    { page: 'developer-form', endpoint: editPage(option), ...ofClient },
    { page: 'developer-confirm', endpoint: rotatePage(option), ...ofClient },
    { page: 'developer-confirm', endpoint: deletePage(option), ...ofClient },
  ],
  clientPageFor: async (context, active, clientId) => {
    if (active === undefined) return undefined
    const { server } = context
    const owner = await findClientOwner(server.database, { clientId })
    if (owner?.subject !== active.login.subject) return undefined
    const mayOpen = (await permission(context, option, active.user)) !== undefined
    return mayOpen ? ownPath(server, clientPath, { client_id: clientId }) : undefined
  },
  api: (server) => ({ developers: developerAdministration({ ...server, option, logos: server }) }),
})

const definition: FeatureDefinition = {
  name: 'developers',
  storage: {
    migrations: new Map([['developers_001', clientOwners]]),
    users: { export: exportClientsOf, revoke: async () => {}, erase: releaseClientsOf },
    clients: {
      erase: async (database, clientId) => void (await deleteClientOwner(database, { clientId })),
      ownership: {
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
    },
    expired: [],
  },
  texts: { pages: texts, operators: operatorTexts },
  events: eventDescriptions,
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

const made = defineFeature(definition, {
  name: 'developers',
  members,
  limits: { quotas },
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
