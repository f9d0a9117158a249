import { hashSecret } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { TokenWithUser } from '../../oauth/tokens/verified-token.ts'
import { parseClientMetadata } from '../../protocol/clients/client-metadata.ts'
import { choiceDetails } from '../../protocol/requests/choice-details.ts'
import { intersectScopes } from '../../protocol/scope.ts'
import { bearer } from '../../protocol/tokens/token-binding.ts'
import { belongsToOrganization } from '../../users/users.ts'
import type { PersonalTokenOption } from './option.ts'
import { findPersonalToken, type PersonalToken, touchPersonalToken } from './table.ts'

/** Seconds within which the last use is not stored again: users see the day, and most requests need no write. */
const usedWithin = 3600

/** Stands for the client that a personal token does not have: it reads nothing about its user that it may not know. */
export const noClient = parseClientMetadata({ grant_types: [] })

/** The client of a personal token, as APIs see it. No client has such an id, because that of the token is random. */
export const personalClientId = ({ id }: Pick<PersonalToken, 'id'>): string => `personal:${id}`

const noteUse = (server: AuthorizationServer, { id, lastUsedAt }: PersonalToken, now: number): void => {
  const before = now - usedWithin
  if (lastUsedAt !== null && lastUsedAt > before) return
  server.runInBackground(touchPersonalToken(server.database, { id, now, before }))
}

/**
 * Verifies a personal access token: it is not expired, and its user is active and belongs to its organization. It has the
 * scopes that the option still allows, for the things that the user chose. It is for no resource.
 *
 * @returns undefined if it is not valid
 */
export const verifyPersonalToken = async (
  server: AuthorizationServer,
  option: Pick<PersonalTokenOption, 'scopes'>,
  value: string,
): Promise<TokenWithUser | undefined> => {
  const found = await findPersonalToken(server.database, { hash: hashSecret(value) })
  const now = server.now()
  if (found === undefined || found.expiresAt <= now) return undefined
  const { id, name, subject, organization, choices, expiresAt } = found
  const user = await server.users.find(subject)
  if (user === undefined) return undefined
  if (!(await belongsToOrganization(server.options.organizations, user, organization))) return undefined
  noteUse(server, found, now)
  const scopes = intersectScopes(found.scopes, option.scopes)
  const token = {
    subject,
    clientId: personalClientId(found),
    resources: [],
    issuedAt: found.createdAt,
    expiresAt,
    scopes,
    personalToken: { id, name },
    ...(organization !== undefined && { organization }),
    ...(choices && {
      choices,
      authorizationDetails: choiceDetails(server.options.choices, scopes, choices),
    }),
  }
  return { token, binding: bearer, user, client: noClient, details: undefined }
}
