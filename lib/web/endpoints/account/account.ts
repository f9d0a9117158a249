import { scopeWords } from '../../../oauth/authorization/consent-scopes.ts'
import { replacesParameter } from '../../../oauth/authorization/login-location.ts'
import { countedThings } from '../../../oauth/choices/consent-things.ts'
import type { Choices } from '../../../protocol/choices.ts'
import { withSuppliedClaims } from '../../../protocol/claims.ts'
import { clientName } from '../../../protocol/clients/client.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { findClient } from '../../../storage/repositories/index.ts'
import { connectedClientsPage } from '../../../users/account/connected-clients.ts'
import type { PageContext } from '../../http/context.ts'
import { queryParameters } from '../../http/form.ts'
import { ownPath } from '../../http/urls.ts'
import type { ConnectedClientCard } from '../../pages/page-models.ts'
import { accessPath } from '../choices/access.ts'
import { iso, pageLinks, pageNumberOf } from '../page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../signed-page.ts'
import { accountModel } from './account-pages.ts'
import {
  clientParameters,
  findConnected,
  type NamedClient,
  namedOrganization,
  organizationNames,
  removeClient,
  showRemoval,
} from './remove-client.ts'

const nameOf = async ({ server, language }: PageContext, clientId: string): Promise<string | undefined> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client && clientName(client, language)
}

/** The user's things that a client may use, and the page that takes some away; nothing if the host has no kinds. */
const accessOf = (
  { server, language }: PageContext,
  client: NamedClient,
  choices: Choices | undefined,
  end: number | undefined,
): Pick<ConnectedClientCard, 'things' | 'ends' | 'changeUrl'> => {
  const kinds = server.options.choices
  if (kinds.length === 0) return {}
  return {
    ...countedThings(kinds, choices, language),
    ...(end !== undefined && { ends: iso(end) }),
    changeUrl: ownPath(server, accessPath, clientParameters(client)),
  }
}

const showClients = async (context: SignedContext<SignedInUser>, parameters: Parameters): Promise<void> => {
  const { server, language, person: active } = context
  const asked = pageNumberOf(parameters)
  const { clients, ...page } = await connectedClientsPage(server, active.login.subject, asked, language)
  const organizations = await organizationNames(context, active.user)
  const cards = clients.map(
    ({
      clientId,
      firstParty: _,
      organization,
      scopes,
      longest,
      since,
      lastUsed,
      choices,
      end,
      ...client
    }) => ({
      ...client,
      ...accessOf(context, { clientId, organization }, choices, end),
      organization: organization && (organizations.get(organization) ?? organization),
      // As on the consent page: a scope that reveals nothing here is no line.
      scopes: withSuppliedClaims(scopes, server.scopeClaims, server.users.claimNames).map((scope) =>
        scopeWords(server, scope, language, longest),
      ),
      since: iso(since),
      lastUsed: iso(lastUsed),
      removeUrl: ownPath(server, '/account', clientParameters({ clientId, organization })),
    }),
  )
  // Confirmed only if it is true and in our own words: anybody can make such a link.
  const removed = parameters.optional('removed')
  const { organization } = removed === undefined ? {} : namedOrganization(server, parameters)
  const isConnected = removed !== undefined && (await findConnected(context, removed, parameters, active))
  const isConfirmed =
    removed !== undefined && !isConnected && (organization === undefined || organizations.has(organization))
  context.send('account', {
    ...(await accountModel(context, active.user, 'account')),
    clients: cards,
    removed: isConfirmed ? await nameOf(context, removed) : undefined,
    removedOrganization: organization && organizations.get(organization),
    ...pageLinks(server, '/account', page),
  })
}

/** The user's connected clients; with `client_id` the page that asks whether to remove that client. */
export const accountEndpoint = accountPage({
  path: '/account',
  fields: ['client_id', 'organization'],
  // An attempt to sign in as another user has failed: show the form again.
  allows: async ({ req }, { login }) => queryParameters(req).optional(replacesParameter) !== login.sid,
  async show(context, query) {
    const { person } = context
    const clientId = query.optional('client_id')
    const client = clientId && (await findConnected(context, clientId, query, person))
    if (client) await showRemoval(context, client)
    else await showClients(context, query)
  },
  acts: {
    async remove(context, form) {
      const { client_id: removed = '', ...others } = clientParameters(await removeClient(context, form))
      return { query: { removed, ...others } }
    },
  },
})
