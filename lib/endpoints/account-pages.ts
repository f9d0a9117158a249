import type { AuthorizationServer } from '../authorization-server.ts'
import { ownPath } from '../http/urls.ts'
import type { AccountPage } from '../pages/account-page-model.ts'

/**
 * The pages on which users look after their account, in display order, for the links between them.
 *
 * @param present the page that is shown, which needs no link to itself
 * @returns those that the options turn on, without `present`; empty if there are no others
 */
export const otherAccountPages = (
  server: AuthorizationServer,
  present: AccountPage['page'] | 'developer',
): readonly AccountPage[] => {
  const { login, features } = server.options
  const pages = [
    { page: 'account', path: '/account', isOn: true },
    { page: 'passkeys', path: '/account/passkeys', isOn: server.options.passkeys !== undefined },
    { page: 'second-factor-settings', path: '/account/second-factor', isOn: login.totp !== undefined },
    { page: 'personal-tokens', path: '/account/tokens', isOn: features.personalAccessTokens !== undefined },
  ] as const
  return pages
    .filter(({ page, isOn }) => isOn && page !== present)
    .map(({ page, path }) => ({ page, url: ownPath(server, path) }))
}
