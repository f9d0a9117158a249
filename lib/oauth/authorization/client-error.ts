import { AuthorizationResponseError, OAuthError } from '../../protocol/errors.ts'
import { EndedRequestError } from '../../protocol/requests/ended-request.ts'
import { StoppedClientError } from '../../protocol/requests/stopped-client.ts'
import type { PageContext } from '../../web/http/context.ts'
import { reportServerError, sendErrorPage } from '../../web/http/errors.ts'
import { oauthErrorOf } from '../../web/http/json-error.ts'
import { type ActiveLogin, activeLogin } from '../../web/sessions/login.ts'
import { ownershipsIn } from '../clients/client-data.ts'
import { extensionPoint } from '../extension-point.ts'

/** An error that ends on a page and is about one client of this server. */
export const isAboutClient = (error: unknown): error is OAuthError & { readonly clientId: string } =>
  error instanceof OAuthError &&
  error.clientId !== undefined &&
  error.status < 500 &&
  !(error instanceof AuthorizationResponseError || error instanceof EndedRequestError)

/** Why the client is stopped, as the features know it. */
const withApproval = async ({ server }: PageContext, error: OAuthError): Promise<OAuthError> => {
  if (!(error instanceof StoppedClientError) || error.state !== 'disabled' || !error.client) return error
  for (const { approvalOf } of ownershipsIn(server.installed)) {
    const state = await approvalOf(server.database, error.client.clientId)
    if (state !== undefined) return new StoppedClientError(state, error.client)
  }
  return error
}

/**
 * Finds the page on which this person looks after a client, as its owner or as an operator.
 *
 * @param active the person who is signed in, if anyone is
 * @returns its path; undefined for everyone else
 */
export type ClientPageFinder = (
  context: PageContext,
  active: ActiveLogin | undefined,
  clientId: string,
) => Promise<string | undefined>

export const clientPages = extensionPoint<ClientPageFinder>('clientPageFor')

/** The page on which this person looks after a client. The error page is shown in any case. */
const manageUrl = async (context: PageContext, clientId: string): Promise<string | undefined> => {
  try {
    const active = await activeLogin(context)
    for (const find of context.server.added(clientPages)) {
      const url = await find(context, active, clientId)
      if (url !== undefined) return url
    }
  } catch (error) {
    reportServerError(context, oauthErrorOf(error))
  }
  return undefined
}

/**
 * Does work about a request. An error that is about its client ends on a page that says what is wrong with the client, and leads
 * those who look after it to its page.
 *
 * @throws every other error of the work
 */
export const explainingClient = async (context: PageContext, work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (thrown) {
    if (context.res.headersSent || !isAboutClient(thrown)) throw thrown
    const error = await withApproval(context, thrown)
    sendErrorPage(context, error, { manageUrl: await manageUrl(context, thrown.clientId) })
  }
}
