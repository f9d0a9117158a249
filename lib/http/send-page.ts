import type { PageModels, PageName } from '../pages/page-models.ts'
import type { Incoming, PageOptions } from './context.ts'
import { languageChoices } from './language.ts'
import { setPageHeaders } from './security-headers.ts'
import { sendHtml } from './send.ts'

/** Answers with a page in this language. */
export const sendPage = <Name extends PageName>(
  incoming: Incoming,
  language: string,
  page: Name,
  model: PageModels[Name],
  { status = 200, redirectUri, headers = {}, frames = [] }: PageOptions = {},
): void => {
  const { server, res } = incoming
  const choices = languageChoices(incoming, page, model, language)
  const html = server.views.render(page, model, { language, choices })
  setPageHeaders(res, redirectUri, frames)
  sendHtml(res, html, { status, headers: { 'Content-Language': language, ...headers } })
}
