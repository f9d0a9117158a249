import type { Feature } from '../feature.ts'
import { adminArea, administratorOf, clientUrl } from './area.ts'
import { clientPage } from './client-page.ts'
import { clientsPage } from './clients-page.ts'
import { deleteClientPage } from './delete-client-page.ts'
import { disableClientPage } from './disable-client-page.ts'
import { eventsPage } from './events/page.ts'
import { eventsTexts } from './events/texts.ts'
import { keysPage, publishKeysPage } from './keys-page.ts'
import { newClientPage } from './new-client-page.ts'
import { option } from './option.ts'
import { overviewPage } from './overview/page.ts'
import { overviewTexts } from './overview/texts.ts'
import { reportPage } from './report/page.ts'
import { reportTexts } from './report/texts.ts'
import { operatorTexts } from './texts.ts'
import { userActPage } from './users/act-page.ts'
import { userTexts } from './users/texts.ts'
import { usersPage } from './users-page.ts'

/** Pages on which administrators look after clients, users, keys and events, at `/admin`. */
export const admin: Feature = {
  name: 'admin',
  option,
  migrations: new Map(),
  texts: {},
  operatorTexts: { ...operatorTexts, ...eventsTexts, ...overviewTexts, ...reportTexts, ...userTexts },
  userData: undefined,
  clientData: undefined,
  expired: [],
  tools: () => import('./tools.ts').then(({ tools }) => tools),
  activate: ({ features: { admin: given } }) =>
    given && {
      clientPageFor: async (context, _active, clientId) =>
        (await administratorOf(context, given)) === undefined
          ? undefined
          : clientUrl(context.server, clientId),
      operatorArea: (others) =>
        adminArea(given, [
          overviewPage(others),
          clientsPage,
          newClientPage,
          clientPage,
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
}
