import type { AuthorizationServer } from '../../authorization-server.ts'
import { ownPath } from '../../http/urls.ts'
import type { AccountPageModel } from '../../pages/account-page-model.ts'
import type { User } from '../../users/users.ts'

/**
 * What every page of the account shows.
 *
 * @param present the page
 */
export const accountModel = (
  server: AuthorizationServer,
  { username }: Pick<User, 'username'>,
  present: string,
): AccountPageModel => {
  const features = server.features.flatMap(({ accountPages = [] }) => accountPages)
  const pages = [{ page: 'account', path: '/account', isLinked: true }, ...features]
  return {
    username,
    pages: pages
      .filter(({ page, isLinked = true }) => isLinked || page === present)
      .map(({ page, path }) => ({ page, url: ownPath(server, path), isCurrent: page === present })),
    signOutUrl: ownPath(server, '/logout'),
  }
}
