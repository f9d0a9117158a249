import {
  callback,
  custom,
  either,
  flag,
  type GivenMembers,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  required,
  text,
} from '../../options/schema.ts'
import type { Browser } from './browser.ts'
import type { Answer } from './wire.ts'

const client = object({
  /** Its id. */
  client_id: required(text('the id of a client')),
  /** Absent: a public client. */
  client_secret: text(),
  /** One of its redirect URIs, as registered. */
  redirect_uri: required(text('a redirect URI of the client, a URL', URL.canParse)),
  /** Its other redirect URIs, so that they are not treated as forged ones. @default none */
  redirect_uris: list(text()),
  /** The scopes to request. @default 'openid' */
  scope: text(),
})

/** The schema of the options of `attack()`. */
export const attackOptions = object(
  {
    /** The issuer, or the path at which the router is mounted, such as `'/oauth'`. */
    issuer: required(
      text(
        'a URL, or the path of the mount, starting with /',
        (value) => value.startsWith('/') || URL.canParse(value),
      ),
    ),
    /** The client that signs the user in. */
    client: required(client),
    /** A user who may sign in. The attacks sign in as this user and allow the client. */
    user: required(object({ username: required(text('a name')), password: required(text('a password')) })),
    /**
     * Signs in on the host's own login page, which is `page`. Afterwards the authorization request is opened again,
     * whatever the function returns.
     * @default fills in Latchkey's page
     * @example login: (browser, page) => browser.submit(page, { email: 'ada@example.com', password: 'her password' })
     */
    login: callback<(browser: Browser, page: Answer) => unknown>(),
    /** The path of your own front end, as in `pages.url`. Its pages are then attacked as the built-in ones are. */
    frontEnd: optional(text("a path, such as '/sign-in'", (value) => value.startsWith('/'))),
    /**
     * Headers that a proxy adds to every request. @default `X-Forwarded-Proto: https` if the issuer is https and the app
     * listens on plain http
     */
    headers: optional(record(text('a string', () => true))),
    /** A second registered client, to try the first client's codes and tokens. @default such attacks are skipped */
    otherClient: optional(
      object({
        /** Its id. */
        client_id: required(text('the id of a client')),
        /** Absent: a public client. */
        client_secret: text(),
      }),
    ),
    /** The path of a GET route behind `requireToken()`. @default such attacks are skipped */
    api: custom<string>('a path', (value) => (typeof value === 'string' ? value : undefined)),
    /**
     * The number of wrong passwords that the limits allow. One more is tried, twice, with accounts that do not exist, from
     * addresses that no user has. False: not tried.
     * @default 5; not tried where this machine has one loopback address only, because that address would be locked
     */
    wrongPasswords: either(oneOf(false), (value) => value === false, number()),
    /**
     * Whether the login of the host is in a signed cookie, without a session on the server. A copy of such a cookie stays
     * valid until it expires, so nothing can end it at the next sign-in, and that attack is skipped.
     */
    statelessLogin: flag(false),
  },
  'the options of attack()',
)

/** A client that is registered in the test database. */
export interface AttackClient extends GivenMembers<(typeof client)['members']> {}
/** Options of `attack()`. */
export interface AttackOptions extends GivenMembers<(typeof attackOptions)['members']> {}
