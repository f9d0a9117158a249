import type { SchemaChange } from '../../migrations/migration.ts'
import type { EventDescriptions } from '../events/description.ts'
import type { ClientPageFinder } from '../oauth/authorization/client-error.ts'
import type { PendingRequestKind, RequestOpener } from '../oauth/authorization/request-kind.ts'
import type {
  OrganizationData,
  ServerSetup,
  StartedFeature,
  UserData,
} from '../oauth/authorization-server.ts'
import type { ClientSource } from '../oauth/client-authentication/client-source.ts'
import type { ClientData } from '../oauth/clients/client-data.ts'
import type { OwnedClientObserver } from '../oauth/grants/direct.ts'
import type { Grant } from '../oauth/grants/grant.ts'
import type { AccessRule } from '../oauth/tokens/access-rules.ts'
import type { TokenKind } from '../oauth/tokens/verified-token.ts'
import { refuse } from '../options/check.ts'
import {
  type ConfiguredFeature,
  configuredFeatures,
  type ExpectsUser,
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
import type { HostUser } from '../options/users.ts'
import type { EventRecord } from '../storage/repositories/index.ts'
import type { RemoveExpired } from '../storage/repositories/pruning/expired.ts'
import type { Check, MountedSubject } from '../tools/check.ts'
import type { Command, CommandContext, InspectedToken } from '../tools/command.ts'
import type { FeatureEndpoints } from '../web/endpoints/index.ts'
import type { SignInMethod, SignInStep } from '../web/endpoints/login-form.ts'
import type { FeatureOperators } from '../web/endpoints/operator-page.ts'
import type { FeatureOrganization } from '../web/endpoints/organization-page.ts'
import type { AccountPage } from '../web/http/account-page.ts'
import type { Sample } from '../web/pages/page-models.ts'

// The contract of a feature. A feature is a folder in lib/features: its option, rules, table, endpoints, pages, texts and
// templates. The core knows no feature by name: it reads the list of the host. `defineFeature` makes the function that hosts call.
//
// Its `declarations.ts` adds its events, pages and data to types of the core: `EventDetails`, `PageModels`, `UserExport`.

/** The data of a feature. Every member is required, so that a feature cannot forget to erase or to prune. */
export interface FeatureStorage {
  /** Its tables. */
  readonly migrations: ReadonlyMap<string, SchemaChange>
  /** Undefined if it stores nothing about users. */
  readonly users: UserData | undefined
  /** Undefined if it stores nothing about clients. */
  readonly clients: ClientData | undefined
  /** @default it stores nothing about organizations */
  readonly organizations?: OrganizationData
  /** Removes its expired rows. */
  readonly expired: readonly RemoveExpired[]
}

/** The additions of a feature to the protocol. */
export interface FeatureProtocol {
  /** Grants of the token endpoint. */
  readonly grants?: readonly Grant[]
  /** Access tokens of a form of their own. */
  readonly tokenKinds?: readonly TokenKind[]
  /** Rules about who may use which client, now. */
  readonly accessRules?: readonly AccessRule[]
  /** See the requests of clients that belong to organizations. */
  readonly ownedClients?: readonly OwnedClientObserver[]
  /** Kinds of request that a user can be asked about. */
  readonly requestKinds?: readonly PendingRequestKind[]
  /** Opens the authorization requests that parameters only name. */
  readonly openRequest?: RequestOpener
  /** Clients that describe themselves elsewhere. */
  readonly clients?: ClientSource
  /** Fields of the discovery document (RFC 8414 §2). */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/**
 * The additions of a feature that is on.
 *
 * @typeParam Added what the host gets on the router
 */
export interface ActiveFeature<Added extends object = object> extends StartedFeature {
  /** Its members of the router, for the host, such as `{ passkeys: { removeAll } }`. */
  api?(server: ServerSetup): Added
  /** Endpoints beside the pages of the account and of operators. */
  readonly endpoints?: FeatureEndpoints
  /** Pages of the account. */
  readonly account?: readonly AccountPage[]
  readonly signIn?: {
    readonly methods?: readonly SignInMethod[]
    readonly steps?: readonly SignInStep[]
  }
  readonly oauth?: FeatureProtocol
  readonly operators?: FeatureOperators
  /** Its additions for the administrators of an organization. */
  readonly organization?: FeatureOrganization
  /** Finds the page on which someone looks after a client. */
  readonly clientPageFor?: ClientPageFinder
  /** Work beside the requests, from the mount until `server.closing` is aborted. */
  background?(server: ServerSetup): Promise<unknown>
}

/** The commands of operators for tokens of a feature: `latchkey token inspect` and `latchkey token revoke`. */
export interface TokenCommands {
  inspect(context: CommandContext, value: string): Promise<InspectedToken | undefined>
  /** @returns what was revoked, in words; undefined if this feature has no such token */
  revoke(context: CommandContext, value: string): Promise<string | undefined>
}

/** The part of a feature for the command line, `latchkey preview` and the tests. The server never loads it. */
export interface FeatureTools {
  readonly commands?: readonly Command[]
  readonly tokens?: TokenCommands
  /** Checks by which `latchkey doctor` asks the running server. */
  readonly mountChecks?: readonly Check<MountedSubject>[]
  /** Lines that `latchkey explain` prints below the events of a request. */
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

/** The part that the features of one folder have in common, and that remains of them after `.off()`. */
export interface FeatureDefinition {
  /** Its own, such as that of its folder. Its migrations begin with it. */
  readonly name: string
  /** @default it stores nothing */
  readonly storage?: FeatureStorage
  /** @default none */
  readonly texts?: FeatureTexts
  /** The folder of its templates, for a feature outside this package. @default none */
  readonly views?: URL
  /** For operators: a description of each type of event that it announces. @default none */
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

/**
 * The definitions of features, each once.
 *
 * @throws OptionsError if two of them have one name
 */
export const definitionsOf = (options: Pick<Options, 'features'>): readonly FeatureDefinition[] => {
  const byName = new Map<string, FeatureDefinition>()
  const tablesOf = ({ storage }: FeatureDefinition): string => String([...(storage?.migrations.keys() ?? [])])
  for (const { definition } of featuresOf(options)) {
    const { name } = definition
    const other = byName.get(name) ?? definition
    // A host may have loaded this package twice.
    if (tablesOf(other) !== tablesOf(definition)) refuse(`features: two features have the name ${name}`)
    byName.set(name, definition)
  }
  return [...byName.values()]
}

/** The definitions of the features in a list that is not checked yet. */
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
export type AboutUsers<
  Made extends ((options: never) => Feature) & Pick<FeatureFunction<object, object, string>, 'off'>,
  Name extends keyof OptionsOf<Made>,
> = Pick<Made, 'off'> &
  (<User extends object = HostUser>(
    options: WithOwnUser<OptionsOf<Made>, Name, User>,
  ) => ReturnType<Made> & ExpectsUser<HostUser extends User ? unknown : User>)

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
   * Completes its options. @default as they are given
   *
   * @throws OptionsError if they do not fit the others
   */
  complete?(given: CheckedMembers<Members>, options: Options): Complete
  /** Called once per server. */
  activate(option: Complete): ActiveFeature<Added>
}

/**
 * Makes the function that hosts call.
 *
 * @param definition what remains of it after `.off()`
 * @param parts its options, and what it adds
 * @returns the function, and `.off()` of it
 * @experimental not frozen before 1.0: docs/feature-of-your-own.md
 * @example
 * export const device = defineFeature(definition, { name: 'device', members, activate })
 */
export const defineFeature = <
  const Name extends string,
  Members extends object & Shape<Members>,
  Added extends object = object,
  Complete = CheckedMembers<Members>,
  Failures extends Limits = Record<never, never>,
  Quotas extends Limits = Record<never, never>,
>(
  definition: FeatureDefinition,
  parts: FeatureParts<Name, Members, Failures, Quotas, Complete, Added>,
): FeatureFunction<FeatureOptions<Members, Failures, Quotas>, Added, Name> => {
  const { name, members, limits: { failures, quotas } = {}, activate } = parts
  // Without `complete` the type of what it would return is that of the options.
  const complete = parts.complete ?? ((given: CheckedMembers<Members>) => given as unknown as Complete)
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
