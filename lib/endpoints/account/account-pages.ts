import type { AuthorizationServer } from '../../authorization-server.ts'
import { ownPath } from '../../http/urls.ts'
import type { AccountPage, AccountPageModel } from '../../pages/account-page-model.ts'
import type { User } from '../../users/users.ts'

/** Links to the other pages on which users look after their account, in display order. */
const otherPages = (server: AuthorizationServer, present: string): readonly AccountPage[] => {
  const pages = [
    { page: 'account', path: '/account', isLinked: true },
    ...server.features.flatMap(({ accountPages = [] }) => accountPages),
  ]
  return pages
    .filter(({ page, isLinked = true }) => isLinked && page !== present)
    .map(({ page, path }) => ({ page, url: ownPath(server, path) }))
}

/**
 * What every page of the account shows.
 *
 * @param present the page, which needs no link to itself
 */
export const accountModel = (
  server: AuthorizationServer,
  { username }: Pick<User, 'username'>,
  present: string,
): AccountPageModel => ({ username, otherPages: otherPages(server, present) })
