import type { Request, Response } from 'express'
import type { AuthorizationServer, EndpointDescription, ServerSetup } from '../authorization-server.ts'
import type { PageModels, PageName } from '../pages/page-models.ts'
import type { RequestInfo } from '../protocol/request-info.ts'

/** A request as it arrives, before the server is known to be ready. */
export interface Incoming {
  readonly server: ServerSetup
  readonly endpoint: EndpointDescription
  readonly req: Request
  readonly res: Response
  readonly info: RequestInfo
  /** The language of pages (BCP 47), once it is known. */
  readonly language?: string
}

/** What every handler gets: one immutable value per request, made in `route()`. */
export interface Context extends Incoming {
  readonly server: AuthorizationServer
}

/** The session that a page route uses: the host's or Latchkey's own. */
export interface BrowserSession {
  /** Whether it is Latchkey's own: it holds nothing of the host's. */
  readonly isOwn: boolean
  /** The id of the session, if it has one. */
  id(): string | undefined
  /** @throws OAuthError `temporarily_unavailable` when the request has no session */
  data(): Record<string, unknown>
  /** Gives the session a new id, so that an id known before the login is worthless after it. */
  regenerate(): Promise<void>
  /** Stores the session. Await it before a redirect: express-session would send the redirect first. */
  save(): Promise<void>
  /** Empties the session, under a new id. Does nothing if the host has destroyed it. */
  clear(): Promise<void>
}

export interface PageOptions {
  /** @default 200 */
  readonly status?: number
  /** Where the pending request will end, so that forms of the page may lead there. */
  readonly redirectUri?: string
  readonly headers?: Readonly<Record<string, string>>
  /** URLs that the page opens in frames. @default none */
  readonly frames?: readonly string[]
}

/** Extra context for page handlers. */
export interface PageContext extends Context {
  /** The language of the page (BCP 47). */
  readonly language: string
  readonly session: BrowserSession
  /** Answers with a page in that language. */
  send<Name extends PageName>(page: Name, model: PageModels[Name], options?: PageOptions): void
}
