import { type ActiveFeature, defineFeature, type FeatureDefinition } from '../feature.ts'
import { adminArea, administratorOf, clientUrl } from './area.ts'
import { operatorClientPage } from './client-page.ts'
import { clientsPage } from './clients-page.ts'
import type {} from './declarations.ts'
import { deleteClientPage } from './delete-client-page.ts'
import { disableClientPage } from './disable-client-page.ts'
import { eventsPage } from './events/page.ts'
import { eventsTexts } from './events/texts.ts'
import { keysPage, publishKeysPage } from './keys-page.ts'
import { newClientPage } from './new-client-page.ts'
import { type AdminOption, members } from './option.ts'
import { overviewPage } from './overview/page.ts'
import { overviewTexts } from './overview/texts.ts'
import { reportPage } from './report/page.ts'
import { reportTexts } from './report/texts.ts'
import { operatorTexts } from './texts.ts'
import { userActPage } from './users/act-page.ts'
import { userTexts } from './users/texts.ts'
import { usersPage } from './users-page.ts'

const definition: FeatureDefinition = {
  name: 'admin',
  texts: {
    operators: { ...operatorTexts, ...eventsTexts, ...overviewTexts, ...reportTexts, ...userTexts },
  },
  tools: () => import('./tools.ts').then(({ tools }) => tools),
}

const activate = (option: AdminOption): ActiveFeature => ({
  clientPageFor: async (context, _active, clientId) =>
    (await administratorOf(context, option)) === undefined ? undefined : clientUrl(context.server, clientId),
  operators: {
    area: (others) =>
      adminArea(option, [
        overviewPage(others),
        clientsPage,
        newClientPage,
        operatorClientPage,
        disableClientPage,
        deleteClientPage,
        ...others,
        usersPage,
        userActPage,
        keysPage,
        publishKeysPage,
        eventsPage,
        reportPage,
      ]),
  },
})

/**
 * Pages on which administrators look after clients, users, keys and events, at `/admin`: docs/admin.md.
 *
 * @example admin({ allow: ({ req }) => req.session.user?.role === 'admin' && String(req.session.user.id) })
 */
export const admin = defineFeature(definition, {
  name: 'admin',
  members,
  activate,
})
