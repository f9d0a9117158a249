import type { EndpointDescription } from '../../../oauth/authorization-server.ts'
import { OAuthError } from '../../../protocol/errors.ts'
import { hostLink } from '../../../protocol/links.ts'
import type { User } from '../../../users/users.ts'
import { type AccountPage, featureAccountPages } from '../../http/account-page.ts'
import type { PageContext } from '../../http/context.ts'
import { reportServerError } from '../../http/errors.ts'
import { ownPath } from '../../http/urls.ts'
import type { AccountPageModel } from '../../pages/account-page-model.ts'

interface Listed extends Pick<AccountPage, 'page' | 'isLinked' | 'isOffered'> {
  readonly endpoint: EndpointDescription
}

/** The pages of the core; features add theirs. */
const own: readonly Listed[] = [
  { page: 'account', endpoint: { path: '/account' } },
  { page: 'devices', endpoint: { path: '/account/devices' } },
]

/** Users still need their other pages when the host cannot say whether they may use this one. */
const isOffered = async (
  context: PageContext,
  user: User,
  { isLinked = true, isOffered: asked }: Listed,
): Promise<boolean> => {
  if (!isLinked || asked === undefined) return isLinked
  try {
    return await asked(context, user)
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 503) throw error
    reportServerError(context, error)
    return false
  }
}

/**
 * The parts of every page of the account.
 *
 * @param user the user who is signed in
 * @param present the page, which is listed in any case
 */
export const accountModel = async (
  context: PageContext,
  user: User,
  present: string,
): Promise<AccountPageModel> => {
  const { server } = context
  const all: readonly Listed[] = [...own, ...server.added(featureAccountPages)]
  const pages: { page: string; url: string; isCurrent: boolean }[] = []
  for (const each of all) {
    const { page, endpoint } = each
    const isCurrent = page === present
    if (isCurrent || (await isOffered(context, user, each)))
      pages.push({ page, url: ownPath(server, endpoint.path), isCurrent })
  }
  return {
    username: user.username,
    pages,
    homeUrl: hostLink(server.options.pages.home),
    signOutUrl: ownPath(server, '/logout'),
  }
}
