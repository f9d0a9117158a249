import type { SchemaChange } from '../../migrations/migration.ts'
import type { EventDescriptions } from '../events/description.ts'
import type { EventCompanion } from '../events/event-log.ts'
import type { Observe } from '../events/sighting.ts'
import type { OpenedRequest, PendingRequestKind } from '../oauth/authorization/request-kind.ts'
import type { AuthorizationServer, ServerSetup } from '../oauth/authorization-server.ts'
import type { ClientData } from '../oauth/clients/client-data.ts'
import type { Grant } from '../oauth/grants/grant.ts'
import type { TokenWithUser } from '../oauth/tokens/verified-token.ts'
import {
  type ConfiguredFeature,
  configuredFeatures,
  type Feature,
  type ListedFeature,
  features as listed,
} from '../options/features.ts'
import { type Limit, limitsOfFeature } from '../options/limits.ts'
import type { Options } from '../options/options.ts'
import {
  type CheckedMembers,
  type GivenMembers,
  isRecord,
  object,
  type Schema,
  type Shape,
} from '../options/schema.ts'
import type { Client } from '../protocol/clients/client.ts'
import type { Parameters } from '../protocol/parameters.ts'
import type { Database } from '../storage/database/types.ts'
import type { EventRecord } from '../storage/repositories/index.ts'
import type { RemoveExpired } from '../storage/repositories/pruning/expired.ts'
import type { Check, MountedSubject } from '../tools/check.ts'
import type { Command, CommandContext, InspectedToken } from '../tools/command.ts'
import type { AnswerCounter } from '../users/account/answer-counters.ts'
import type { User } from '../users/users.ts'
import type { LoginPage, PasswordProved, ProvenUser, SignInMoment } from '../web/endpoints/login-form.ts'
import type { OperatorPage, UserSection } from '../web/endpoints/operator-page.ts'
import type { Context, PageContext } from '../web/http/context.ts'
import type { Endpoint } from '../web/http/route.ts'
import type { Sample } from '../web/pages/page-models.ts'
import type { ActiveLogin } from '../web/sessions/login.ts'
import type { Notice } from '../web/sessions/notice.ts'

// The contract of a feature. A feature is a folder in lib/features: its option, rules, table, endpoints, pages, texts and
// templates. The core knows no feature by name: it reads the list of the host. `defineFeature` makes the function that hosts call.
//
// A feature adds its own names to interfaces of the core by declaration merging: its events to `EventDetails`, its pages to
// `PageModels`, and its data to `UserExport`.

/** What a feature stores about users. What is stored outlives the feature, so this also runs after `.off()`. */
export interface UserData {
  /** Returns what is stored about a user: fields of `UserExport`, without secrets. */
  export(database: Database, subject: string): Promise<object>
  /** Ends what the user could still use without a login, in the transaction in which their logins have ended. */
  revoke(tx: Database, subject: string): Promise<unknown>
  /** Removes every row about a user. It can be repeated after an error. */
  erase(server: ServerSetup, subject: string): Promise<unknown>
  /** What counts wrong answers of a user and may lock the user out: operators see it and unlock it. @default nothing */
  readonly answerCounter?: AnswerCounter
}

/** What a feature stores. Every member is required, so that a feature cannot forget to erase or to prune. */
export interface FeatureStorage {
  /** Its tables. */
  readonly migrations: ReadonlyMap<string, SchemaChange>
  /** Undefined if it stores nothing about users. */
  readonly users: UserData | undefined
  /** Undefined if it stores nothing about clients. */
  readonly clients: ClientData | undefined
  /** Removes its expired rows. */
  readonly expired: readonly RemoveExpired[]
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
  readonly endpoint: Endpoint<PageContext>
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

/** Clients that describe themselves elsewhere. */
export interface ClientSource {
  /**
   * Stores or renews a client before it is looked up. An id that is not of this source costs no statement.
   *
   * @param from.address of a request that may introduce a new client; without one only a known client is renewed
   * @throws OAuthError `unauthorized_client` if the client cannot be used
   */
  refresh(server: AuthorizationServer, clientId: string, from: { readonly address?: string }): Promise<void>
  /** Whether the host vouches for a client, by where it describes itself: then pages do not call it unverified. */
  vouchesFor(client: Client): boolean
}

/** What a feature adds to the protocol. */
export interface FeatureProtocol {
  /** Grants of the token endpoint. */
  readonly grants?: readonly Grant[]
  /** Access tokens of a form of their own. */
  readonly tokenKinds?: readonly TokenKind[]
  /** Kinds of request that a user can be asked about. */
  readonly requestKinds?: readonly PendingRequestKind[]
  /** Opens the authorization request that these parameters only name; undefined if it is not one of this feature. */
  openRequest?(context: PageContext, parameters: Parameters): Promise<OpenedRequest | undefined>
  /** Clients that describe themselves elsewhere. */
  readonly clients?: ClientSource
  /** Fields of the discovery document (RFC 8414 §2). */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** What a feature adds for the people who operate the server. */
export interface FeatureOperators {
  /** Pages for operators. They are served if a feature lets operators in. */
  readonly pages?: readonly OperatorPage[]
  /** What it adds to the page about a user. */
  readonly userSections?: readonly UserSection[]
  /**
   * Lets operators in.
   *
   * @param others the pages of the other features
   * @returns the endpoints of these and its own pages
   */
  area?(others: readonly OperatorPage[]): readonly Endpoint<PageContext>[]
}

/**
 * What a feature that is on adds to the server.
 *
 * @typeParam Added what the host gets on the router
 */
export interface ActiveFeature<Added extends object = object> {
  /** What the host gets on the router, such as `{ passkeys: { removeAll } }`. */
  api?(server: ServerSetup): Added
  /** Endpoints beside the pages of the account and of operators. */
  readonly endpoints?: {
    /** Programs call them; errors are JSON. */
    readonly programs?: readonly Endpoint<Context>[]
    /** Browsers open them; errors are pages. */
    readonly browsers?: readonly Endpoint<PageContext>[]
  }
  /** Pages of the account. */
  readonly account?: readonly AccountPage[]
  readonly signIn?: {
    readonly methods?: readonly SignInMethod[]
    readonly steps?: readonly SignInStep[]
  }
  readonly oauth?: FeatureProtocol
  readonly operators?: FeatureOperators
  /**
   * The page on which this person looks after a client, as its owner or as an operator.
   *
   * @param active who is signed in, if anyone
   * @returns its path; undefined for everyone else
   */
  clientPageFor?(
    context: PageContext,
    active: ActiveLogin | undefined,
    id: string,
  ): Promise<string | undefined>
  /** Observers, each made once, before any request. */
  readonly observe?: {
    /** Receives all that the server sees of clients and announces as no event. */
    sightings?(server: ServerSetup): Observe
    /** Writes beside stored events, in their transaction. */
    events?(server: ServerSetup): EventCompanion
  }
  /** Prepares what requests need, when the server starts. The server is not ready if it throws. */
  start?(): Promise<void>
  /** Work beside the requests, from the mount until `server.closing` is aborted. */
  background?(server: ServerSetup): Promise<unknown>
}

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

/** The texts of a feature. */
export interface FeatureTexts {
  /** Of its pages, by language tag. @default none */
  readonly pages?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Of its pages for operators, which are in English and whose names begin with `operator-`. @default none */
  readonly operators?: Readonly<Record<string, string>>
}

/** What features of one folder have in common, and what remains of them after `.off()`. */
export interface FeatureDefinition {
  /** The name of its folder in lib/features, where its templates are. */
  readonly name: string
  /** @default it stores nothing */
  readonly storage?: FeatureStorage
  /** @default none */
  readonly texts?: FeatureTexts
  /** What operators read about each type of event that it announces. @default none */
  readonly events?: EventDescriptions<string>
  /** Loads its tools. @default none */
  tools?(): Promise<FeatureTools>
}

/** A feature of the host's list, with checked options. */
export interface InstalledFeature extends ConfiguredFeature {
  readonly definition: FeatureDefinition
  check(options: Options): void
  /** Called once per server. @returns undefined after `.off()` */
  activate(options: Options): ActiveFeature | undefined
}

/** The features of the host, on or off. */
export const featuresOf = ({ features }: Pick<Options, 'features'>): readonly InstalledFeature[] =>
  // Only `defineFeature` makes them.
  features as readonly InstalledFeature[]

/** The definitions of features, each once. */
export const definitionsOf = (options: Pick<Options, 'features'>): readonly FeatureDefinition[] => [
  // By name, because a host may have loaded this package twice.
  ...new Map(featuresOf(options).map(({ definition }) => [definition.name, definition])).values(),
]

/** What the features in a list keep and need, of options that are not checked. */
export const definitionsIn = (features: readonly Feature[] = []): readonly FeatureDefinition[] =>
  definitionsOf({ features: configuredFeatures(listed.check(features, 'features'), true) })

type Limits = Readonly<Record<string, Schema<Limit | false, Limit | false>>>

/** The options of a feature: its own and its limits. */
type FeatureOptions<Members, Failures, Quotas> = GivenMembers<Members> & {
  /** Its limits, each `{ max, seconds }` or `false`; `false` turns all of them off. */
  limits?: false | { readonly [Name in keyof Failures | keyof Quotas]?: Limit | false }
}

/** The options are required if one of them is. */
type Arguments<Options> = object extends Options ? [options?: Options] : [options: Options]

/**
 * The function that makes a feature of the list `features`.
 *
 * @typeParam Options its options
 * @typeParam Added what it adds to the router
 * @typeParam Name its name
 */
export interface FeatureFunction<Options extends object, Added extends object, Name extends string> {
  (...options: Arguments<Options>): Feature<Added, Name>
  /** Keeps what the feature has stored, with the duties that come with it (export, erase, prune, migrate), and adds nothing else. */
  off(): Feature
}

type OptionsOf<Made> = Made extends (options: infer Options) => unknown ? Options : never

type WithOwnUser<Options, Name extends keyof Options, User> = Omit<Options, Name> & {
  readonly [Key in Name]: Options[Key] extends (user: never, ...others: infer Others) => infer Result
    ? (user: User, ...others: Others) => Result
    : never
}

/**
 * The function of a feature whose option `Name` is a function about a user. The host may write its own type of a user there.
 *
 * @typeParam Made the function with the type `HostUser`
 */
export type AboutUsers<Made extends (options: never) => Feature, Name extends keyof OptionsOf<Made>> = Made &
  (<User extends object>(options: WithOwnUser<OptionsOf<Made>, Name, User>) => ReturnType<Made>)

/** A feature as its folder describes it. */
interface FeatureParts<Name, Members, Failures, Quotas, Complete, Added extends object> {
  /** The name of its function. */
  readonly name: Name
  /** The schemas of its options, by name. */
  readonly members: Members & object
  /** Its limits by name. @default none */
  readonly limits?: {
    /** They count failures. */
    readonly failures?: Failures
    /** They count every use. */
    readonly quotas?: Quotas
  }
  /**
   * Completes its options.
   *
   * @throws OptionsError if they do not fit the others
   */
  complete(given: CheckedMembers<Members>, options: Options): Complete
  /** Called once per server. */
  activate(option: Complete): ActiveFeature<Added>
}

/**
 * Makes the function that hosts call.
 *
 * @example
 * export const device = defineFeature(definition, { name: 'device', members, complete: (given) => given, activate })
 */
export const defineFeature = <
  const Name extends string,
  Members extends object & Shape<Members>,
  Complete,
  Added extends object,
  Failures extends Limits = Record<never, never>,
  Quotas extends Limits = Record<never, never>,
>(
  definition: FeatureDefinition,
  parts: FeatureParts<Name, Members, Failures, Quotas, Complete, Added>,
): FeatureFunction<FeatureOptions<Members, Failures, Quotas>, Added, Name> => {
  const { name, members, limits: { failures, quotas } = {}, complete, activate } = parts
  const schema = object({ ...members, limits: limitsOfFeature({ ...failures, ...quotas }) })
  const feature = (given: object | undefined): Feature<Added, Name> & ListedFeature => ({
    name,
    isOff: given === undefined,
    schemaOf: () => schema,
    configure(isLimited): InstalledFeature {
      const off = { name, definition, option: undefined, failures: {}, quotas: {} }
      if (given === undefined) return { ...off, check() {}, activate: () => undefined }
      const limited = isLimited || !isRecord(given) ? given : { ...given, limits: false }
      const { limits, ...rest } = schema.check(limited, `${name}({})`) as Configured<Members>
      // TypeScript does not see that only the limits are gone.
      const option: CheckedMembers<Members> = rest as Configured<Members>
      return {
        name,
        definition,
        option,
        failures: named(limits, failures),
        quotas: named(limits, quotas),
        check: (options) => void complete(option, options),
        activate: (options) => activate(complete(option, options)),
      }
    },
  })
  return Object.assign((given: object = {}) => feature(given), { off: () => feature(undefined) })
}

type Configured<Members> = CheckedMembers<Members> & { readonly limits: LimitsByName }

type LimitsByName = Readonly<Record<string, Limit | false>>

const named = (limits: LimitsByName, shape: object = {}): LimitsByName =>
  Object.fromEntries(Object.entries(limits).filter(([name]) => Object.hasOwn(shape, name)))
