import { extensionPoint } from '../../oauth/extension-point.ts'
import type { User } from '../../users/users.ts'
import type { PageContext } from './context.ts'
import type { Endpoint } from './endpoint.ts'

/** A page on which users look after their account. */
export interface AccountPage {
  /** Its name in `PageModels`; the text `<name>.title` is the link to it. */
  readonly page: string
  readonly endpoint: Endpoint<PageContext>
  /** Whether the pages of the account link to it. @default true */
  readonly isLinked?: boolean
  /** The parameters without which its URL shows nothing. @default none */
  readonly parameters?: readonly string[]
  /** Whether the pages of the account link to it for this user. If it throws, they do not. @default true */
  isOffered?(context: PageContext, user: User): Promise<boolean>
  /** Whether a sign-in there must have the highest level, because what the user adds signs in at every level. */
  readonly needsEveryLevel?: boolean
}

export const featureAccountPages = extensionPoint<AccountPage>('account')
