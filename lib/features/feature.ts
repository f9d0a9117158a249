import type { SchemaChange } from '../../migrations/migration.ts'
import type { EventDescriptions } from '../events/description.ts'
import type { EventCompanion } from '../events/event-log.ts'
import type { Observe } from '../events/sighting.ts'
import type { OpenedRequest, PendingRequestKind } from '../oauth/authorization/context.ts'
import type { AuthorizationServer, ServerSetup } from '../oauth/authorization-server.ts'
import type { ClientData } from '../oauth/clients/register.ts'
import type { Grant } from '../oauth/grants/grant.ts'
import type { TokenWithUser } from '../oauth/tokens/verified-token.ts'
import type { FeatureOptions, Options } from '../options/options.ts'
import type { Client } from '../protocol/clients/client.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { Database } from '../storage/database/types.ts'
import type { EventRecord } from '../storage/repositories/index.ts'
import type { RemoveExpired } from '../storage/repositories/pruning/expired.ts'
import type { Check, MountedSubject, StoredSubject } from '../tools/check.ts'
import type { Command, CommandContext, InspectedToken } from '../tools/command.ts'
import type { AnswerCounter } from '../users/account/answer-counters.ts'
import type { User } from '../users/users.ts'
import type { LoginPage, PasswordProved, ProvenUser, SignInMoment } from '../web/endpoints/login-form.ts'
import type { OperatorPage, UserSection } from '../web/endpoints/operator-page.ts'
import type { Context, Incoming, PageContext } from '../web/http/context.ts'
import type { Endpoint } from '../web/http/route.ts'
import type { Sample } from '../web/pages/page-models.ts'
import type { ActiveLogin } from '../web/sessions/login.ts'
import type { Notice } from '../web/sessions/notice.ts'

// The contract of a feature. A feature is a folder in lib/features: its option, rules, table, endpoints, pages, texts and
// templates. The core reads the lists below and knows no feature by name; lib/features/index.ts lists them all.
//
// A feature adds its own names to interfaces of the core by declaration merging: its options to `FeatureSchemas`, its limits to
// `FailureSchemas` and `QuotaSchemas`, its events to `EventDetails`, its pages to `PageModels`, and what it gives the host to
// `HostApi`.

/** What a feature stores about users. What is stored outlives the option, so this also runs while the feature is off. */
export interface UserData {
  /** Returns what is stored about a user: fields of `UserExport`, without secrets. */
  export(database: Database, subject: string): Promise<object>
  /** Ends what the user could still use without a login, in the transaction in which their logins have ended. */
  revoke(tx: Database, subject: string): Promise<unknown>
  /** Removes every row about a user. It can be repeated after an error. */
  erase(server: ServerSetup, subject: string): Promise<unknown>
}

/** Access tokens of a form of their own. */
export interface TokenKind {
  /** Whether a value has the form of such a token. If so, no other kind is tried. */
  matches(value: string): boolean
  /** Verifies a token for no resource. @returns undefined if it is not valid */
  verify(server: AuthorizationServer, value: string): Promise<TokenWithUser | undefined>
}

/** A page on which users look after their account. */
export interface AccountPage {
  /** Its name in `PageModels`; the text `<name>.title` is the link to it. */
  readonly page: string
  /** Path below the mount. */
  readonly path: string
  /** Whether the pages of the account link to it. @default true */
  readonly isLinked?: boolean
  /** The parameters without which its URL shows nothing. @default none */
  readonly parameters?: readonly string[]
  /** Whether the pages of the account link to it for this user. If it throws, they do not. @default true */
  isOffered?(context: PageContext, user: User): Promise<boolean>
  /** Whether a sign-in there must have the highest level, because what the user adds signs in at every level. */
  readonly needsEveryLevel?: boolean
}

/** A way to sign in beside the password: a button on the login page. */
export interface SignInMethod {
  /** Its name: the field of the login form that it fills in, its partial template, and `login.<name>` in its texts. */
  readonly field: string
  /** What it adds to the `autocomplete` of the field before it, such as `webauthn`. */
  readonly autocomplete?: string
  /** What the script of the template needs; undefined if this account cannot use it. */
  prompt(context: PageContext, page: LoginPage): Promise<string | undefined>
  /** Whether a user could use it at this sign-in. The text `login.<name>.needed` says that the password alone is not enough. */
  isSetUp(context: PageContext, user: User, at: SignInMoment): Promise<boolean>
  /** Finds the user whom the value of the field proves, or says why there is none. */
  attempt(context: PageContext, page: LoginPage, value: string): Promise<ProvenUser | Notice>
}

/** A step after the password, before the login. */
export interface SignInStep {
  /** Whether a user needed the step at this sign-in. */
  isNeeded(context: PageContext, user: User, at: SignInMoment): Promise<boolean>
  /**
   * Begins the step if this user needs it.
   *
   * @param page the login page, which names the levels that the request asks for
   * @returns the URL of the page that goes on; undefined if the password is enough
   */
  begin(context: PageContext, page: LoginPage, attempt: PasswordProved): Promise<string | undefined>
}

/** What a feature that is on adds to the server. */
export interface ActiveFeature {
  /** Prepares what requests need, when the server starts. The server is not ready if it throws. */
  start?(): Promise<void>
  /** Endpoints that programs call. */
  readonly api?: readonly Endpoint<Context>[]
  /** Endpoints that browsers open. */
  readonly pages?: readonly Endpoint<PageContext>[]
  /** Endpoints that need neither schema nor keys. */
  readonly files?: readonly Endpoint<Incoming>[]
  /** Grants of the token endpoint. */
  readonly grants?: readonly Grant[]
  /** Access tokens of a form of their own. */
  readonly tokenKinds?: readonly TokenKind[]
  /** Kinds of request that a user can be asked about. */
  readonly requestKinds?: readonly PendingRequestKind[]
  /** Opens the authorization request that these parameters only name; undefined if it is not one of this feature. */
  openRequest?(context: PageContext, parameters: Parameters): Promise<OpenedRequest | undefined>
  readonly signInMethods?: readonly SignInMethod[]
  readonly signInSteps?: readonly SignInStep[]
  /** Pages of the account. */
  readonly accountPages?: readonly AccountPage[]
  /**
   * Stores or renews a client that describes itself elsewhere, before it is looked up. Any other id costs no statement.
   *
   * @param from.address of a request that may introduce a new client; without one only a known client is renewed
   * @throws OAuthError `unauthorized_client` if the client cannot be used
   */
  refreshClient?(
    server: AuthorizationServer,
    clientId: string,
    from: { readonly address?: string },
  ): Promise<void>
  /** Whether the host vouches for a client that describes itself, by where it does so: then pages do not call it unverified. */
  vouchesFor?(client: Client): boolean
  /**
   * The page on which this person looks after a client, as its owner or as an operator.
   *
   * @param active who is signed in, if anyone
   * @returns its path; undefined for everyone else
   */
  clientPageFor?(
    context: PageContext,
    active: ActiveLogin | undefined,
    clientId: string,
  ): Promise<string | undefined>
  /** Scopes that the host keeps from a client whose scope follows the resources. */
  withheldScopes?(client: Client): readonly string[]
  /** Pages for the people who operate the server. They are served if a feature lets operators in. */
  readonly operatorPages?: readonly OperatorPage[]
  /** What it adds to the page about a user for operators. */
  readonly userSections?: readonly UserSection[]
  /**
   * Lets operators in.
   *
   * @param others the pages of the other features
   * @returns the endpoints of these and its own pages
   */
  operatorArea?(others: readonly OperatorPage[]): readonly Endpoint<PageContext>[]
  /** Makes what receives all that the server sees of clients and announces as no event. Called once, before any request. */
  observer?(server: ServerSetup): Observe
  /** Makes what writes beside stored events, in their transaction. Called once, before any request. */
  eventCompanion?(server: ServerSetup): EventCompanion
  /** Work beside the requests, from the mount until `server.closing` is aborted. */
  background?(server: ServerSetup): Promise<unknown>
  /** Fields of the discovery document (RFC 8414 §2). */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** What the host gets on the router. */
  hostApi?(server: ServerSetup): Partial<HostApi>
}

/** What features give the host on the router. Each feature adds its own members. */
// biome-ignore lint/suspicious/noEmptyInterface: features add the members by declaration merging.
export interface HostApi {}

/** The texts of a feature, by language tag. */
export type FeatureTexts = Readonly<Record<string, Readonly<Record<string, string>>>>

/** What operators do with tokens of a feature: `latchkey token inspect` and `latchkey token revoke`. */
export interface TokenCommands {
  inspect(context: CommandContext, value: string): Promise<InspectedToken | undefined>
  /** @returns what was revoked, in words; undefined if this feature has no such token */
  revoke(context: CommandContext, value: string): Promise<string | undefined>
}

/** What the command line, `latchkey preview` and the tests need of a feature. The server never loads it. */
export interface FeatureTools {
  readonly commands?: readonly Command[]
  readonly tokens?: TokenCommands
  /** What `latchkey doctor` asks the running server. */
  readonly mountChecks?: readonly Check<MountedSubject>[]
  /** What `latchkey explain` adds to the events of a request: lines of text. */
  explain?(context: CommandContext, events: readonly EventRecord[]): Promise<readonly string[]>
  /** Every state of its pages. */
  readonly samples?: readonly Sample[]
}

/** A feature. Every member is required, so that a feature cannot forget to erase what it stores. */
export interface Feature {
  /** The name of its folder in lib/features, where its templates are. */
  readonly name: string
  /** Its options and limits, and their check. */
  readonly option: FeatureOptions
  /** Its tables. They exist in every database, whether the feature is on or off. */
  readonly migrations: ReadonlyMap<string, SchemaChange>
  readonly texts: FeatureTexts
  /** The texts of its pages for operators, which are in English and whose names begin with `operator-`. @default none */
  readonly operatorTexts?: Readonly<Record<string, string>>
  /** What operators read about each type of event that it announces. @default none */
  readonly events?: EventDescriptions<string>
  /** Undefined if it stores nothing about users. */
  readonly userData: UserData | undefined
  /** What counts wrong answers of a user and may lock the user out: operators see it and unlock it. @default nothing */
  readonly answerCounter?: AnswerCounter
  /** Undefined if it stores nothing about clients. */
  readonly clientData: ClientData | undefined
  /** Removes its expired rows. */
  readonly expired: readonly RemoveExpired[]
  /** Loads its tools. */
  readonly tools: (() => Promise<FeatureTools>) | undefined
  /** Loads what the start and `latchkey doctor` check in the database, whether the feature is on or off. */
  checks?(): Promise<readonly Check<StoredSubject>[]>
  /** Called once per server. @returns undefined while the feature is off */
  activate(options: Options): ActiveFeature | undefined
}
