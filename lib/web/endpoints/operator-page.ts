import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { extensionPoint } from '../../oauth/extension-point.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import type { PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import type { OperatorPageModel } from '../pages/operator-page-model.ts'
import type { Person, SignedContext, SignedPage } from './signed-page.ts'

// Pages for the people who operate the server, in English. Features describe them; the feature that decides who is an
// operator serves them all.

/** An operator, as the feature that let them in knows them. */
export interface Operator extends Person {
  /** The host's name for the operator; undefined if it gave none. */
  readonly actor: string | undefined
  /** Reads the top of every page, with the numbers of what waits. */
  header(): Promise<OperatorPageModel>
  /** The page about a client. */
  clientUrl(clientId: string): string
  /** The page about a user. */
  userUrl(subject: string): string
  /** Pages of features that say more about a client or user. */
  linksAbout(about: { readonly client: string } | { readonly user: string }): readonly OperatorLink[]
}

/** A link to a page about a client or user. */
export interface OperatorLink {
  /** The text `operator.<section>`. */
  section: string
  url: string
}

/** The context of a page for operators. Its handlers run only for those who may open it. */
export type OperatorContext = SignedContext<Operator>

/** A page for operators. */
export interface OperatorPage extends Pick<SignedPage<Operator>, 'path' | 'fields' | 'show' | 'acts'> {
  /** Its section; the first page of a section is the one that others link to, with the text `operator.<section>`. */
  readonly section: string
  /** The number of things that wait in its section, up to 100. The link to it shows the number. */
  waiting?(context: PageContext): Promise<number>
  /** A problem in its section now. It stands first on the overview. @default nothing */
  troubles?(context: PageContext): Promise<readonly OperatorTrouble[]>
  /** The parameters of its URL by which it shows one client or user: the pages about them link to it. @default none */
  readonly about?: { readonly client?: string; readonly user?: string }
}

/** Something that is wrong until someone looks after it. */
export interface OperatorTrouble {
  /** Its subject. */
  readonly name: string
  /** The name of the text that goes on after the name, with `{time}` and `{count}`. */
  readonly sentence: string
  /** ISO 8601. */
  readonly time?: string
  readonly count?: number
}

// Sections of features on the page about a user. Pages for operators are in English, and so are these words.

/** An act, which the page asks about first. */
export interface UserAct {
  /** Names it in URLs and forms: the section has one such act at most. */
  readonly id: string
  /** The button. */
  readonly label: string
  /** Such as `Remove the passkey “Phone”?`. */
  readonly question: string
  /** The consequence, in a sentence or two. */
  readonly effect: string
}

/** One of several things that a user has. */
export interface UserSectionRow {
  readonly name: string
  /** In display order; a time is in epoch seconds. */
  readonly facts: readonly { readonly label: string; readonly value: string | { readonly time: number } }[]
  readonly act?: UserAct
}

/** A section about a user. */
export interface UserSectionContent {
  /** A sentence, with counts. */
  readonly summary: string
  readonly rows?: readonly UserSectionRow[]
  /** An act about all of it. */
  readonly act?: UserAct
}

/** Who acts, on which user. */
export interface UserActContext {
  readonly server: AuthorizationServer
  readonly subject: string
  readonly info: RequestInfo
  /** The host's name for the operator; absent if it gave none. */
  readonly actor?: string
}

/** A section of the page about a user. */
export interface UserSection {
  /** Names it in URLs. */
  readonly name: string
  readonly title: string
  /** Reads what a user has; undefined if there is nothing to say. */
  read(server: AuthorizationServer, subject: string): Promise<UserSectionContent | undefined>
  /** Does the act with this id, if it is still there to be done, and announces it. */
  run(context: UserActContext, id: string): Promise<void>
}

export const featureUserSections = extensionPoint<UserSection>('operators.userSections')

/** The additions of a feature for the people who operate the server. */
export interface FeatureOperators {
  /** Pages for operators. They are served if a feature lets operators in. */
  readonly pages?: readonly OperatorPage[]
  /** Its sections on the page about a user. */
  readonly userSections?: readonly UserSection[]
  /**
   * Lets operators in.
   *
   * @param others the pages of the other features
   * @returns the endpoints of these and its own pages
   */
  area?(others: readonly OperatorPage[]): readonly Endpoint<PageContext>[]
}
