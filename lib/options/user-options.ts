import type { Request, Response } from 'express'
import type { Picture } from './page-options.ts'
import type { PasskeyOptions } from './passkey-options.ts'

/** A row of the host's user table, as the host's own Knex instance returns it. */
export type UserRow = Record<string, unknown>

/** A claim is a column name of the user row, or a function of the row. */
export type ClaimMapping = string | ((row: UserRow) => unknown)

/** Describes the host's user table. */
export interface UserMapping {
  /** The table's name, as the host's own code writes it. */
  table: string
  /** The columns that hold the identifier (it becomes `sub`), the login name and the password hash. */
  columns: {
    /** Becomes `sub`. It never changes and is never reused. */
    id: string
    /** The name that people type. */
    username: string
    /** The password hash. */
    password: string
  }
  /**
   * Maps each claim to a column or a function of the row.
   * @default { preferred_username: columns.username }, unless it is an e-mail address
   */
  claims?: Readonly<Record<string, ClaimMapping>>
  /** Returns false for a disabled user. Their logins and tokens stop working at once. @default every row is active */
  isActive?: (row: UserRow) => boolean | Promise<boolean>
  /** Checks a password whose stored hash is not bcrypt, argon2, scrypt or Django's PBKDF2. */
  verify?: (password: string, row: UserRow) => boolean | Promise<boolean>
  /**
   * Stores a new hash (argon2id, 19 MiB) after a sign-in with a weaker one. If it fails, the sign-in succeeds and the
   * error is logged. @default hashes stay as they are
   */
  rehash?: (row: UserRow, hash: string) => unknown
}

/** A user of the function form: any object with an `id` that never changes and is never reused. */
export interface HostUser {
  /** Becomes `sub`: a number, or at most 255 printable ASCII characters. */
  id: string | number
  [field: string]: unknown
}

/** The host's users behind functions, for users that do not live in one table. */
export interface UserFunctions<User extends HostUser = HostUser> {
  /** Returns the user with this id, or undefined if the user does not exist or is disabled. */
  find(id: string): User | undefined | Promise<User | undefined>
  /**
   * Returns the user if the password is right, else undefined. Make unknown users take as long as wrong passwords;
   * otherwise response times reveal who has an account.
   */
  authenticate(username: string, password: string, req: Request): User | undefined | Promise<User | undefined>
  /** Returns the user's claims. Claims that the granted scopes do not cover are removed afterwards. */
  claims?(user: User, scopes: readonly string[]): Record<string, unknown> | Promise<Record<string, unknown>>
}

/** The host's own login, as `login.current` returns it. */
export interface HostLogin {
  /** The user's id, as `users` finds it. */
  subject: string | number
  /**
   * When the user last authenticated, in epoch seconds. Return it if clients ask for a recent login (`max_age`,
   * `prompt=login`): without it Latchkey cannot see that a user authenticated again.
   * @default the time at which Latchkey first saw this login
   */
  authTime?: number
  /** Authentication methods (RFC 8176). @default ['pwd'] */
  amr?: readonly string[]
  /** Authentication level: one of the option `acrValues`. @default none */
  acr?: string
}

/** Another way to sign in, which the host offers: a social network, or a company's own login. */
export interface LoginProvider {
  /** The name on the button: "Continue with …". */
  name: string
  /** The host's URL that starts it. It sends the browser back to the URL in `return_to`, signed in to the host. */
  url: string
  /** A square picture, shown 20 px high. @default none */
  icon?: Picture
}

/** A second factor that our page asks for after the password: a code. */
export interface SecondFactor {
  /** The page asks for a code. */
  kind: 'code'
  /**
   * Whether this is the right code. Spaces are removed before. Latchkey limits the tries, and accepts no code of a user twice
   * within an hour.
   */
  verify(code: string): boolean | Promise<boolean>
  /**
   * Sends a code to the user, when the page appears first and when the user asks for another one.
   * @default none: the user has the codes, as in an authenticator app
   */
  send?(): unknown
  /** Whether `verify` also accepts recovery codes, which may have letters. The page then offers a field for them. @default false */
  recoveryCodes?: boolean
  /** Authentication methods of the login (RFC 8176). @default ['pwd', 'otp', 'mfa'] */
  amr?: readonly string[]
  /** Authentication level of the login: one of the option `acrValues`. @default none */
  acr?: string
}

/** The second factor that Latchkey keeps for users. */
export interface TotpLoginOptions {
  /** Authentication level of a login with it: one of the option `acrValues`. @default none */
  acr?: string
}

/** What the request that a user signs in for asks of the login. */
export interface SecondFactorRequest {
  /** The login needs one of these levels; empty if the request names none. */
  readonly acrValues: readonly string[]
}

/** How a user has authenticated on the built-in page. */
export interface LoginProof {
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Authentication level; undefined if it has none. */
  readonly acr?: string | undefined
}

/** Login on the host's own page, or hooks around the built-in page. */
export interface LoginOptions {
  /** The host's login page. It sends the browser back to the URL in `return_to`. @default the built-in page */
  url?: string
  /** What users type as their name on the built-in page: it decides the label and the keyboard. @default 'either' */
  identifier?: 'email' | 'username' | 'either'
  /** Other ways to sign in, as buttons above the form of the built-in page. They require `current`. @default [] */
  providers?: readonly LoginProvider[]
  /**
   * Users can sign in with passkeys on the built-in page, and add them on the page of their connected apps. It requires the
   * package `@simplewebauthn/server`. @default false
   */
  passkeys?: boolean | PasskeyOptions
  /** Returns the user who is logged in to the host, or a falsy value. Required with `url`. @default none */
  current?: (
    req: Request,
  ) => HostLogin | undefined | null | false | '' | 0 | Promise<HostLogin | undefined | null | false>
  /**
   * Returns the second factor that this user needs after the password on the built-in page, or a falsy value if they need
   * none. There is no login before its code is right. It runs again for each code. @default none: the password is enough
   */
  secondFactor?: (
    user: HostUser,
    req: Request,
    asked: SecondFactorRequest,
  ) =>
    | SecondFactor
    | undefined
    | null
    | false
    | ''
    | 0
    | Promise<SecondFactor | undefined | null | false | '' | 0>
  /**
   * Lets users set up an authenticator app (TOTP) under Connected apps, and asks those who have for its code. Latchkey keeps
   * the secrets, encrypted. `acr` is the authentication level of such a login. Not together with `secondFactor`. @default false
   */
  totp?: boolean | TotpLoginOptions
  /** Authentication level of a login with the password alone: one of the option `acrValues`. @default none */
  acr?: string
  /**
   * Logs the user in to the host after a login on the built-in page: in its session, or with a cookie of its own. It must
   * not answer the request. `proof` says how the user has authenticated. @default none
   */
  remember?: (req: Request, res: Response, user: HostUser, proof: LoginProof) => void | Promise<void>
  /**
   * Ends the host's own login when the user signs out on a page of Latchkey. It must not answer the request. Only needed
   * if the login that `current` returns is not in the session that Latchkey uses, which is emptied anyway.
   * @default none: the page says that the user is still signed in to the app
   */
  forget?: (req: Request, res: Response) => void | Promise<void>
}
