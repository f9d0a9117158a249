import type { Request, Response } from 'express'
import type {
  AuthorizationServer,
  EndpointDescription,
  ServerSetup,
} from '../../oauth/authorization-server.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import type { PageModels, PageName } from '../pages/page-models.ts'

/**
 * The next step of a front end of the host: it shows a page with this model, or it sends the browser on. The status is that of
 * our own page, such as 400 after a wrong password.
 */
export type Interaction =
  | { readonly redirectTo: string }
  | {
      [Name in PageName]: {
        readonly page: Name
        readonly status: number
        /** The language of the texts in the model (BCP 47). */
        readonly language: string
        readonly model: PageModels[Name]
      }
    }[PageName]

/** A page in one language. */
export type PageOutcome = {
  [Name in PageName]: {
    readonly page: Name
    readonly model: PageModels[Name]
    readonly language: string
    readonly options: PageOptions
  }
}[PageName]

/** The answer to a browser, before it leaves. */
export type Outcome =
  | PageOutcome
  /** The browser goes to a client. */
  | { readonly redirectTo: string }
  /** The browser goes to one of our pages, or to a page of the host that is about to come back. */
  | { readonly redirectToPage: string }

/** Sends an outcome: to the browser, or as an {@link Interaction} to a front end of the host. */
export type Deliver = (incoming: Incoming, outcome: Outcome) => void

/** A request as it arrives, before the server is known to be ready. */
export interface Incoming {
  readonly server: ServerSetup
  readonly endpoint: EndpointDescription
  readonly req: Request
  readonly res: Response
  readonly info: RequestInfo
  /** The language of pages (BCP 47), once it is known. */
  readonly language?: string
  readonly deliver: Deliver
}

/** The argument of every handler: one immutable value per request, made in `route()`. */
export interface Context extends Incoming {
  readonly server: AuthorizationServer
}

/** The session of a browser: a secret that Latchkey's own cookie or the session of the host holds. */
export interface BrowserSession {
  /** The id under which the browser knows the session; undefined if it has none. */
  id(): string | undefined
  /** SHA-256 of the secret, whether or not a login has it; undefined without a secret. */
  secretHash(): string | undefined
  /**
   * Empties a session of the host and gives it a new id, before the host writes to it: an id known before the login is
   * worthless after it. Our own session has nothing to empty.
   *
   * @returns what the host had in it
   */
  renew(): Promise<Readonly<Record<string, unknown>>>
  /** Replaces the secret of an earlier login with that of a new one. */
  begin(secret: string): Promise<void>
  /** Forgets the secret. A session of the host is emptied, and gets a new id. */
  end(): Promise<void>
}

export interface PageOptions {
  /** @default 200 */
  readonly status?: number
  /** Where the pending request will end, so that forms of the page may lead there. */
  readonly redirectUri?: string
  readonly headers?: Readonly<Record<string, string>>
  /** URLs that the page opens in frames. @default none */
  readonly frames?: readonly string[]
  /** The script of the page may read pages of this server. @default false */
  readonly reads?: boolean
}

/** Extra context for page handlers. */
export interface PageContext extends Context {
  /** The language of the page (BCP 47). */
  readonly language: string
  readonly session: BrowserSession
  /** A page in that language, as a value. */
  page<Name extends PageName>(name: Name, model: PageModels[Name], options?: PageOptions): PageOutcome
  /** Answers with such a page. */
  send<Name extends PageName>(name: Name, model: PageModels[Name], options?: PageOptions): void
}
