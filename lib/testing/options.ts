import {
  callback,
  custom,
  type GivenMembers,
  list,
  number,
  object,
  optional,
  record,
  required,
  text,
} from '../options/schema.ts'
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
     * The number of wrong passwords that the limits allow, 5 by default. One more is tried, twice, with accounts that do
     * not exist. This address may be locked afterwards. @default not tried
     */
    wrongPasswords: number(),
  },
  'the options of attack()',
)

/** A client that is registered in the test database. */
export interface AttackClient extends GivenMembers<(typeof client)['members']> {}
/** Options of `attack()`. */
export interface AttackOptions extends GivenMembers<(typeof attackOptions)['members']> {}
