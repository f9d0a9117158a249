import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { countedThings } from '../../oauth/choices/consent-things.ts'
import { findOrganizations } from '../../users/users.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { PersonalTokenCard } from './declarations.ts'
import { revokePersonalToken } from './issue.ts'
import type { PersonalTokenOption } from './option.ts'
import { listPersonalTokens, type PersonalToken } from './table.ts'

/** The list of a user's personal access tokens. */
export const personalTokensPath = '/account/tokens'
/** The form of a new one. */
export const personalTokenFormPath = '/account/tokens/new'
/** Names a token in the URL of the page that asks whether to revoke it. */
const idParameter = 'id'

const cardOf = (
  { server, language }: PageContext,
  token: PersonalToken,
  organizations: ReadonlyMap<string, string>,
): PersonalTokenCard => {
  const { id, name, organization, choices, createdAt, lastUsedAt, expiresAt } = token
  return {
    name,
    scopes: token.scopes.map((scope) => scopeWords(server, scope, language)),
    ...(organization !== undefined && { organization: organizations.get(organization) ?? organization }),
    ...countedThings(server.options.choices, choices, language),
    since: iso(createdAt),
    ...(lastUsedAt !== null && { lastUsed: iso(lastUsedAt) }),
    expires: iso(expiresAt),
    isExpired: expiresAt <= server.now(),
    removeUrl: ownPath(server, personalTokensPath, { [idParameter]: id }),
  }
}

const showTokens = async (
  context: SignedContext<SignedInUser>,
  { maxPerUser }: PersonalTokenOption,
  tokens: readonly PersonalToken[],
): Promise<void> => {
  const { server, req, person, notice } = context
  const organizations = await findOrganizations(server.options.organizations, person.user, req)
  const names = new Map(organizations?.map(({ id, name }) => [id, name]))
  const value = notice?.secret
  const created = tokens.find(({ id }) => id === notice?.about)
  const isFull = tokens.filter(({ expiresAt }) => expiresAt > server.now()).length >= maxPerUser
  context.send('personal-tokens', {
    ...(await accountModel(context, person.user, 'personal-tokens')),
    tokens: tokens.map((token) => cardOf(context, token, names)),
    ...(created && value !== undefined && { created: { name: created.name, value } }),
    ...(notice?.kind === 'revoked' && { notice: 'revoked' as const }),
    ...(isFull
      ? { max: maxPerUser }
      : organizations?.length !== 0 && { newUrl: ownPath(server, personalTokenFormPath) }),
  })
}

const showRevocation = (context: SignedContext<SignedInUser>, { id, name }: PersonalToken): void => {
  const cancelUrl = ownPath(context.server, personalTokensPath)
  context.send('revoke-token', { ...context.form({ [idParameter]: id }, 'revoke'), name, cancelUrl })
}

/** The list of the user's personal access tokens; with `id` the page that asks whether to revoke that one. */
export const personalTokensPage = (option: PersonalTokenOption): Endpoint<PageContext> =>
  accountPage({
    path: personalTokensPath,
    fields: [idParameter],
    async show(context, query) {
      const { server, person } = context
      const tokens = await listPersonalTokens(server.database, { subject: person.id })
      const named = query.optional(idParameter)
      const token = tokens.find(({ id }) => id === named)
      if (token) showRevocation(context, token)
      else await showTokens(context, option, tokens)
    },
    acts: {
      async revoke({ server, person, info }, form) {
        await revokePersonalToken(server, { id: form.required(idParameter), subject: person.id }, { info })
        return { notice: { kind: 'revoked' } }
      },
    },
  })
