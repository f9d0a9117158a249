import type { Request } from 'express'
import type { ClientMetadata } from '../protocol/clients/client-metadata.ts'
import type { Organization } from '../protocol/requests/organization.ts'
import {
  callback,
  custom,
  either,
  type GivenMembers,
  isRecord,
  kept,
  type ObjectSchema,
  object,
  record,
  required,
  type Schema,
  text,
} from './schema.ts'

/** A row of the host's user table, as the host's own Knex instance returns it. */
export type UserRow = Record<string, unknown>

/** The places where claims of a user can go. */
export const claimTargets = ['id_token', 'userinfo', 'introspection', 'access_token'] as const
/** Where claims of a user go. */
export type ClaimTarget = (typeof claimTargets)[number]

/** For whom and where claims are asked for. */
export interface ClaimsAsked {
  /** The client that gets them, by the names of RFC 7591; at introspection the client of the token. */
  readonly client: Readonly<ClientMetadata> & { readonly client_id: string }
  /** The scopes of the token. */
  readonly scopes: readonly string[]
  /** The organization of the token, with the option `organizations`. */
  readonly organization?: string
  /** The ID token, UserInfo, introspection (RFC 7662), or a JWT access token (RFC 9068). */
  readonly for: ClaimTarget
}

/** The value of a claim: a column of the user row, or a function of the row. */
type ClaimValue<Row extends object = UserRow> = string | ((row: Row, asked: ClaimsAsked) => unknown)

/** A claim is a column name of the user row, a function of the row, or one of them with what it needs and where it goes. */
export type ClaimMapping<Row extends object = UserRow> =
  | ClaimValue<Row>
  | {
      readonly value: ClaimValue<Row>
      /** The scope that reveals it, beside those whose `claims` name it. */
      readonly scope?: string
      /** Where it goes. @default ['id_token', 'userinfo'] */
      readonly for?: readonly ClaimTarget[]
    }

/** A user of the function form: any object with an `id` that never changes and is never reused. */
export interface HostUser {
  /** Becomes `sub`: a number, or at most 255 printable ASCII characters. */
  id: string | number
  [field: string]: unknown
}

/** A user as the functions of the host return it: its own type, with an id. */
type Found<User extends object> = User & Pick<HostUser, 'id'>

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | Promise<Value>

/** The request of the user's browser. */
export interface WithRequest {
  readonly req: Request
}

/** A name and a password, as someone typed them on the sign-in page. */
export interface PasswordAttempt extends WithRequest {
  readonly username: string
  readonly password: string
}

const column = text('the name of a column')

const isClaimValue = (value: unknown): boolean => typeof value === 'string' || typeof value === 'function'

const claim = custom<ClaimMapping>(
  'the name of a column, a function of the row, or an object with value, scope and for',
  (value) => {
    if (isClaimValue(value)) return value as ClaimMapping
    if (!isRecord(value) || !isClaimValue(value.value)) return undefined
    const { value: _, scope, for: targets = [], ...unknown } = value
    const isComplete =
      (scope === undefined || typeof scope === 'string') &&
      Array.isArray(targets) &&
      targets.every((target) => claimTargets.includes(target)) &&
      Object.keys(unknown).length === 0
    return isComplete ? (value as ClaimMapping) : undefined
  },
)

const mappingMembersOf = <Row extends object>() => ({
  /** The table's name, as your own code writes it. Without a table, set `find` and `authenticate` instead. */
  table: required(text('the name of the table')),
  /** The columns that hold the id, the login name and the password hash. */
  columns: required(
    object({
      /** Becomes `sub`. It never changes and is never reused. */
      id: required(column),
      /** The name that people type. */
      username: required(column),
      /** The password hash. */
      password: required(column),
    }),
  ),
  /**
   * Maps each claim to a column or a function of the row, or to `{ value, scope, for }`: docs/users.md#claims.
   * @default `{ preferred_username: columns.username }`, unless it is an e-mail address
   */
  claims: record(claim as Schema<ClaimMapping<Row>, ClaimMapping<Row> | undefined>),
  /** Returns false for a disabled user. Their logins and tokens stop working at once. @default every row is active */
  isActive: callback<(row: Row) => Awaitable<boolean>>(),
  /** Checks a password whose stored hash is not bcrypt, argon2, scrypt or Django's PBKDF2. @default none */
  verify: callback<(row: Row, given: { readonly password: string }) => Awaitable<boolean>>(),
  /**
   * Stores a new hash (argon2id, 19 MiB) after a sign-in with a weaker one: docs/users.md#hashes. An error is logged, and
   * the sign-in succeeds. @default hashes stay as they are
   */
  rehash: callback<(row: Row, made: { readonly hash: string }) => unknown>(),
})

type MappingSchemasMembers<Row extends object> = ReturnType<typeof mappingMembersOf<Row>>

/** The members of `users` with a table. */
export interface MappingSchemas<Row extends object = UserRow> extends MappingSchemasMembers<Row> {}

const mapping: ObjectSchema<MappingSchemas> = object(mappingMembersOf<UserRow>())

const functionsOf = <User extends object>() =>
  object({
    /** Without a table: returns the user with this id, or undefined if the user does not exist or is disabled. */
    find: required(callback<(id: string) => Awaitable<Found<User> | undefined>>()),
    /**
     * Returns the user if the password is right, else undefined. Only the `id` counts; `find` then returns the user. Mind
     * times and spellings: docs/users.md#functions.
     */
    authenticate: required(callback<(attempt: PasswordAttempt) => Awaitable<Found<object> | undefined>>()),
    /**
     * Returns the user's claims, for one client and one place: `asked.for` is `'id_token'`, `'userinfo'`, `'introspection'`
     * or `'access_token'`. Claims that the granted scopes do not cover are removed; in the last two only scopes of the API
     * count. With a table, `claims` maps each claim to a column or a function of the row: docs/users.md#claims. @default
     * none
     */
    claims: callback<(user: User, asked: ClaimsAsked) => Awaitable<Record<string, unknown>>>(),
  })

/**
 * The host's user table.
 *
 * @typeParam Row the type of a row, if the host has one
 */
export interface UserMapping<Row extends object = UserRow> extends GivenMembers<MappingSchemas<Row>> {}
/**
 * The host's users behind functions, for users that do not live in one table.
 *
 * @typeParam User the type of a user, if the host has one; it has an id
 */
export interface UserFunctions<User extends object = HostUser>
  extends GivenMembers<ReturnType<typeof functionsOf<User>>['members']> {}

/** The scopes that the claims of the table name themselves: `[scope, claim]`. */
export const scopesOfClaims = (
  users: UserMapping | UserFunctions | undefined,
): readonly (readonly [scope: string, claim: string])[] =>
  users === undefined || !isUserMapping(users)
    ? []
    : Object.entries<ClaimMapping>(users.claims ?? {}).flatMap(([name, claim]) =>
        typeof claim === 'object' && claim.scope !== undefined ? [[claim.scope, name] as const] : [],
      )

/** Whether the name of the column says that people sign in with their e-mail address. */
export const signsInByEmail = ({ columns }: Pick<UserMapping, 'columns'>): boolean =>
  /e-?mail/i.test(columns.username)

/** True for the mapping form, false for the function form. */
export const isUserMapping = (users: UserMapping | UserFunctions): users is UserMapping => 'table' in users

export const users: Schema<UserMapping | UserFunctions, UserMapping | UserFunctions | undefined> = either(
  kept(mapping),
  (value) => isRecord(value) && ('table' in value || 'columns' in value),
  kept(functionsOf<HostUser>()),
  'an object with a table and columns, or with the functions find and authenticate',
)

const organizationsOf = <User extends object>() =>
  callback<(user: User, asked: Partial<WithRequest>) => Awaitable<readonly Organization[]>>()

/** The schema of `organizations`. */
export type OrganizationsSchema<User extends object> = ReturnType<typeof organizationsOf<User>>

export const organizations = organizationsOf<HostUser>()
