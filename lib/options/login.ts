import type { Response } from 'express'
import { hostLink } from '../protocol/links.ts'
import { type Picture, picture } from './pages.ts'
import {
  type Checked,
  callback,
  flag,
  list,
  type ObjectSchema,
  object,
  oneOf,
  required,
  text,
} from './schema.ts'
import {
  type HostUser,
  isUserMapping,
  signsInByEmail,
  type UserFunctions,
  type UserMapping,
  type WithRequest,
} from './users.ts'

type Answer<Value> = Value | Promise<Value>
type Falsy = undefined | null | false | '' | 0

/** The host's own login, as `login.current` returns it. */
export interface HostLogin {
  /** The user's id, as `users` finds it. */
  subject: string | number
  /**
   * When the user last authenticated, in epoch seconds. Return it if clients ask for a recent login (`max_age`,
   * `prompt=login`): without it Latchkey cannot see that a user authenticated again.
   * @default unknown: `auth_time` in tokens is 0
   */
  authTime?: number
  /** Authentication methods (RFC 8176). @default ['pwd'] */
  amr?: readonly string[]
  /** Authentication level: one of the option `acrValues`. @default none */
  acr?: string
}

/** The request of the user's browser, and its answer. */
export interface WithResponse extends WithRequest {
  readonly res: Response
}

/** A login on the built-in page. */
export interface NewLogin extends WithResponse {
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Authentication level; undefined if it has none. */
  readonly acr?: string | undefined
  /**
   * The content of your app's session before the login emptied it. It may be of another user, so copy only what a visitor
   * without a login can have, such as a cart. Empty with `session: 'own'`.
   */
  readonly previousSession: Readonly<Record<string, unknown>>
}

const provider = object(
  {
    /** Its name on the button: “Continue with …”. */
    name: required(text("a name, such as 'Google'", (value) => value.trim() !== '')),
    /**
     * Your page that starts it, a path such as `'/auth/google'` or an https URL. It sends the browser back to the URL in
     * `return_to`, signed in to your app.
     */
    url: required(
      text(
        "your page that starts this way to sign in: a path such as '/auth/google' or an https URL",
        (value) => hostLink(value) !== undefined,
      ),
    ),
    /** A square picture, shown 20 px high, given as `pages.logo` is. @default none */
    icon: picture,
  },
  'an object with name, url and icon',
)

const membersOf = <User extends object>() => ({
  /** The URL of your login page. It sends the browser back to the URL in `return_to`. @default the built-in page */
  url: text(),
  /**
   * The name that users type on the built-in page: `'email'`, `'username'` or `'either'`. The label, the error and the
   * keyboard of phones depend on it. @default `'email'` if `users.columns.username` is called so, else `'either'`
   */
  identifier: oneOf('email', 'username', 'either'),
  /** Other ways to sign in, as buttons below the form of the built-in page. They require `current`. @default none */
  providers: list(provider, { what: 'a list of { name, url, icon }' }),
  /** Whether the other ways to sign in stand above the form. */
  providersFirst: flag(false),
  /** Returns the user who is logged in to your app, or a falsy value. Required with `url`: docs/users.md#your-own-login-page. @default none */
  current: callback<(asked: WithRequest) => Answer<HostLogin | Falsy>>(),
  /**
   * Logs the user in to your app after a login on the built-in page. It must not answer the request. @default none
   */
  remember: callback<(user: User, login: NewLogin) => Answer<void>>(),
  /**
   * Ends the login of your app when the user signs out on a page of Latchkey, if that login is not in the session that
   * Latchkey uses. It must not answer the request. @default none: the page says that the user is still signed in to the app
   */
  forget: callback<(asked: WithResponse) => Answer<void>>(),
  /** The authentication level of a login with the password alone, one of `acrValues`. @default none */
  acr: text(),
})

type LoginSchemasMembers<User extends object> = ReturnType<typeof membersOf<User>>

/** The members of `login`. */
export interface LoginSchemas<User extends object = HostUser> extends LoginSchemasMembers<User> {}

export const login: ObjectSchema<LoginSchemas> = object(membersOf<HostUser>())

/** The pictures on the buttons of `login.providers`. */
export const providerIcons = ({ providers = [] }: Checked<typeof login>): Picture[] =>
  providers.flatMap(({ icon }) => icon ?? [])

/** The kind of name that users type, by the option or by the name of the host's column. */
export const identifierOf = ({
  login: { identifier },
  users,
}: {
  readonly login: Pick<Checked<typeof login>, 'identifier'>
  readonly users?: UserMapping | UserFunctions | undefined
}): 'email' | 'username' | 'either' => {
  const isEmail = users !== undefined && isUserMapping(users) && signsInByEmail(users)
  return identifier ?? (isEmail ? 'email' : 'either')
}
