import type { AuthorizationServer } from '../../authorization-server.ts'
import { ownPath } from '../../http/urls.ts'
import type { AccountPage } from '../../pages/account-page-model.ts'

/**
 * Links to the other pages on which users look after their account, in display order.
 *
 * @param present the page that is shown, which needs no link to itself
 * @returns empty if there are no others
 */
export const otherAccountPages = (server: AuthorizationServer, present: string): readonly AccountPage[] => {
  const pages = [
    { page: 'account', path: '/account', isLinked: true },
    ...server.features.flatMap(({ accountPages = [] }) => accountPages),
  ]
  return pages
    .filter(({ page, isLinked = true }) => isLinked && page !== present)
    .map(({ page, path }) => ({ page, url: ownPath(server, path) }))
}
