import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { OwningOrganization } from '../../protocol/clients/client-metadata.ts'
import { readableIdentifier } from '../../protocol/explanation.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type ClientRecord, findClientRecord } from '../../storage/repositories/index.ts'
import { type OrganizationAdministrator, organizationUrl } from '../../web/endpoints/organization-page.ts'
import type { NamedParameters } from '../../web/endpoints/page-values.ts'
import type { ActResult, SignedContext } from '../../web/endpoints/signed-page.ts'
import type { AccountContext, Changer, NamedAccount } from './accounts.ts'
import type { AccountNotice } from './declarations.ts'
import type { ServiceAccountOption } from './option.ts'
import { type AccountRow, findAccountRow } from './table.ts'

/** The service accounts of an organization. */
export const accountsPath = '/organization/accounts'
/** The form of a new one. */
export const newPath = '/organization/accounts/new'
/** One account. */
export const accountPath = '/organization/account'
/** The form of one account. */
export const editPath = '/organization/account/edit'
/** Asks before something happens to an account. */
export const confirmPath = '/organization/account/confirm'

/** The tab of all these pages. */
export const section = 'accounts'

/** Names an account in URLs and forms. */
export const accountField = 'account'

export type AccountPageContext = SignedContext<OrganizationAdministrator>

/** An account of the organization of a page. */
export interface OwnAccount {
  readonly row: AccountRow
  readonly client: ClientRecord
  readonly owner: OwningOrganization
}

/**
 * The account that a URL or form names.
 *
 * @throws OAuthError with status 404, the same for an unknown account and one of another organization
 */
export const findOwnAccount = async (
  { server: { database, now }, person: { organization } }: AccountPageContext,
  parameters: Parameters,
): Promise<OwnAccount> => {
  const clientId = parameters.optional(accountField) ?? ''
  const row = await findAccountRow(database, { organization: organization.id, clientId })
  const client = row && (await findClientRecord(database, { clientId, now: now() }))
  const owner = client?.metadata.owned_by
  if (row && client && owner) return { row, client, owner }
  const explanation = { expected: 'an account of this organization', received: readableIdentifier(clientId) }
  throw refusal('parameter_invalid', {
    values: { parameter: accountField, problem: 'is not that of an account of this organization' },
    status: 404,
    explanation,
  })
}

/** The parameters that name an account, in the order of the fields of its pages. */
export const about = ({ organization, clientId }: NamedAccount): NamedParameters => ({
  organization,
  [accountField]: clientId,
})

/** The URL of a page about an account. */
export const accountUrl = (
  server: AuthorizationServer,
  path: string,
  { organization, clientId }: NamedAccount,
  query: NamedParameters = {},
): string => organizationUrl(server, path, organization, { [accountField]: clientId, ...query })

/** Leads to the page of an account, which says once what has happened. */
export const toAccount = (named: NamedAccount, kind: AccountNotice, secret?: string): ActResult => ({
  path: accountPath,
  query: about(named),
  notice: { kind, ...(secret !== undefined && { secret }) },
})

/** The administrator who presses a button. */
export const changerOf = ({ person, info }: AccountPageContext): Changer => ({
  subject: person.id,
  sid: person.login.sid,
  info,
})

/**
 * The server for a change that an administrator makes.
 *
 * @throws OAuthError with status 429 after too many
 */
export const changeBy = async (
  { server, person }: AccountPageContext,
  option: ServiceAccountOption,
): Promise<AccountContext> => {
  await server.throttle.takeQuota([{ name: 'serviceAccount', subject: person.id }])
  return { ...server, option }
}
