import type { Request, Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { identifyBrowser, knownBrowser } from '../http/browser-cookie.ts'
import { type ConnectedClient, connectedClients } from '../http/connected-clients.ts'
import { assertCsrf, csrfToken, type FormPurpose } from '../http/csrf.ts'
import { ownPath } from '../http/names.ts'
import { occasionOf } from '../http/occasion.ts'
import type { Pages } from '../http/pages.ts'
import type { ActiveLogin } from '../http/situation.ts'
import type { Parameters } from '../protocol/parameters.ts'
import { removeConsent, revokeAuthorizationsOfClient } from '../repositories/index.ts'
import { transaction } from '../repositories/statement.ts'

/** A removal is that of the user who was asked, and of the client that they were asked about. */
const purposeOf = (
  clientId: string,
  { login }: ActiveLogin,
  browser: FormPurpose['browser'],
): FormPurpose => ({
  action: 'account',
  requestId: JSON.stringify(['remove', login.subject, clientId]),
  browser,
})

/** One of the user's own clients; of nobody else's, and none that is removed already. */
export const namedClient = async (
  server: AuthorizationServer,
  parameters: Parameters,
  { login }: ActiveLogin,
): Promise<ConnectedClient | undefined> => {
  const named = parameters.optional('client_id')
  if (named === undefined) return undefined
  return (await connectedClients(server, login.subject)).find(({ clientId }) => clientId === named)
}

/** Asks whether to remove it. */
export const showRemoval = (
  server: AuthorizationServer,
  pages: Pages,
  { req, res }: { req: Request; res: Response },
  { active, client }: { active: ActiveLogin; client: ConnectedClient },
): void => {
  const { clientId, name, host, firstParty } = client
  const browser = identifyBrowser(server, req, res)
  const model = {
    action: ownPath(server, '/account'),
    hidden: {
      client_id: clientId,
      csrf_token: csrfToken(server, purposeOf(clientId, active, browser)),
    },
    client: { name, host },
    firstParty,
    username: active.user.username,
    cancelUrl: ownPath(server, '/account'),
  }
  pages.send(res, 'remove-client', model)
}

/**
 * Ends all that the user gave to a client, codes and tokens with it, and forgets that it was allowed.
 *
 * @returns the client that has no access any more
 * @throws OAuthError with status 403 when the form was not given to this user about this client
 */
export const removeClient = async (
  server: AuthorizationServer,
  { req, form }: { req: Request; form: Parameters },
  active: ActiveLogin,
): Promise<string> => {
  const clientId = form.required('client_id')
  const browser = knownBrowser(server, req)
  assertCsrf(server, req, form, browser && purposeOf(clientId, active, browser))
  const pair = { subject: active.login.subject, clientId }
  const now = server.now()
  const isRemoved = await transaction(server.database, async (tx) => {
    const consent = await removeConsent(tx, pair)
    const authorizations = await revokeAuthorizationsOfClient(tx, { ...pair, now })
    return consent || authorizations
  })
  if (isRemoved) server.events.announce('consent.removed', occasionOf(req), pair)
  return clientId
}
