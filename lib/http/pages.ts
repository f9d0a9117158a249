import type { Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { type Client, clientName } from '../protocol/client.ts'
import { redirectUriHost } from '../protocol/redirect-uri.ts'
import type { ClientCard, PageModels, PageName } from './page-models.ts'
import { formActionFor, setPageHeaders } from './security-headers.ts'
import { sendHtml } from './send.ts'
import { createViews, type Views } from './views.ts'

/** How endpoints answer with a page. */
export interface Pages {
  readonly views: Views
  /**
   * @param options.redirectUri where the waiting request will end, so that forms may lead there
   */
  send<Name extends PageName>(
    res: Response,
    page: Name,
    model: PageModels[Name],
    options?: { status?: number; redirectUri?: string; headers?: Readonly<Record<string, string>> },
  ): void
}

export const createPages = ({ options }: AuthorizationServer): Pages => {
  const views = createViews({
    directory: options.views,
    branding: options.branding,
    basePath: options.basePath,
  })
  return {
    views,
    send: (res, page, model, { status = 200, redirectUri, headers = {} } = {}) => {
      const html = views.render(page, model)
      setPageHeaders(res, redirectUri === undefined ? undefined : formActionFor(redirectUri))
      sendHtml(res, html, { status, headers })
    },
  }
}

/** A client as the pages show it to the user. */
export const clientCard = (client: Client, redirectUri: string): ClientCard => ({
  name: clientName(client),
  host: redirectUriHost(redirectUri),
  unverified: false,
  policyUri: client.metadata.policy_uri,
  tosUri: client.metadata.tos_uri,
})
