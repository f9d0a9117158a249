import { readableIdentifier } from '../../protocol/explanation.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type ClientRecord, findClientRecord } from '../../storage/repositories/index.ts'
import { callHost } from '../../users/host-function.ts'
import type { User } from '../../users/users.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import {
  accountPageFor,
  type SignedAccountPage,
  type SignedContext,
  type SignedInUser,
} from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import type { DeveloperOption } from './option.ts'
import type { Developer } from './register.ts'
import { type ClientOwner, findClientOwner } from './table.ts'

/** The list of a developer's clients. */
export const listPath = '/developer'
/** One client of a developer. */
export const clientPath = '/developer/client'

/**
 * Seconds after a sign-in in which developers may change their clients. The forms are long, and a client alone opens
 * nothing: each user still decides whether to allow it.
 */
export const recent = 3600

/** A user who may register clients, as the host says for this request. */
interface SignedInDeveloper extends SignedInUser, Developer {}

/** The context of a developer page. */
export type DeveloperPageContext = SignedContext<SignedInDeveloper>

const showForbidden = async (context: PageContext, { user }: SignedInUser): Promise<void> => {
  const model = { ...(await accountModel(context, user, 'developer')), clients: [], isForbidden: true }
  context.send('developer', model, { status: 403 })
}

/**
 * Asks the host whether a user may register clients, and whether these wait for it.
 *
 * @returns undefined if the user may not
 */
export const permission = async (
  { req }: PageContext,
  { allow }: Pick<DeveloperOption, 'allow'>,
  { record }: User,
): Promise<true | 'approval' | undefined> => {
  const said: unknown = await callHost('developers({ allow })', () => allow(record, { req }))
  return said === true || said === 'approval' ? said : undefined
}

/** A page of the developer area. Other users see the form to sign in, or that they must not register clients. */
export const developerPage = (
  { allow }: DeveloperOption,
  page: SignedAccountPage<SignedInDeveloper>,
): Endpoint<PageContext> =>
  accountPageFor(page, async (context, user) => {
    const said = await permission(context, { allow }, user.user)
    if (said !== undefined)
      return {
        ...user,
        subject: user.id,
        sid: user.login.sid,
        needsApproval: said === 'approval',
        info: context.info,
      }
    await showForbidden(context, user)
    return undefined
  })

/** A client of the user. */
export interface OwnClient {
  readonly owner: ClientOwner
  readonly client: ClientRecord
}

/**
 * The client that a URL or form names.
 *
 * @throws OAuthError with status 404, the same for an unknown client and one of another user
 */
export const findOwnClient = async (
  { server, person: { subject } }: DeveloperPageContext,
  parameters: Parameters,
): Promise<OwnClient> => {
  const { database, now } = server
  const clientId = parameters.optional('client_id') ?? ''
  const owner = await findClientOwner(database, { clientId })
  const client =
    owner?.subject === subject ? await findClientRecord(database, { clientId, now: now() }) : undefined
  if (owner && client) return { owner, client }
  const explanation = { expected: `a client of user ${subject}`, received: readableIdentifier(clientId) }
  throw refusal('parameter_invalid', {
    values: { parameter: 'client_id', problem: 'is not that of a client of this user' },
    status: 404,
    explanation,
  })
}
