import type { Response } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { languagesOf } from '../pages/i18n/languages.ts'
import type { ClientCard, PageModels, PageName } from '../pages/page-models.ts'
import { warnOfOldCopies } from '../pages/template-version.ts'
import { createViews, type Views } from '../pages/views.ts'
import { type Client, clientName } from '../protocol/client.ts'
import { inLanguage } from '../protocol/client-metadata-languages.ts'
import { redirectUriHost } from '../protocol/redirect-uri.ts'
import { languageOf } from './language.ts'
import { languageChoices } from './language-choice.ts'
import { formActionFor, setPageHeaders } from './security-headers.ts'
import { sendHtml } from './send.ts'

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

export const createPages = (server: AuthorizationServer): Pages => {
  const { options } = server
  const views = createViews({
    directory: options.views,
    branding: options.branding,
    basePath: options.basePath,
    languages: languagesOf(server),
  })
  if (options.views !== undefined && !options.production) warnOfOldCopies(options.views, options.logger)
  return {
    views,
    send: (res, page, model, { status = 200, redirectUri, headers = {} } = {}) => {
      const language = languageOf(server, res.req)
      const choices = languageChoices(server, page, model, language)
      const html = views.render(page, model, { language, choices })
      setPageHeaders(res, redirectUri === undefined ? undefined : formActionFor(redirectUri))
      sendHtml(res, html, { status, headers: { 'Content-Language': language, ...headers } })
    },
  }
}

/** A client as the pages show it to the user, in the words that it has for their language. */
export const clientCard = (client: Client, redirectUri: string, language: string): ClientCard => ({
  name: clientName(client, language),
  host: redirectUriHost(redirectUri),
  unverified: false,
  policyUri: inLanguage(client.metadata, 'policy_uri', language),
  tosUri: inLanguage(client.metadata, 'tos_uri', language),
})
