import { type CheckedMembers, type ObjectSchema, object, seconds } from './schema.ts'

const day = 86_400

const members = {
  /** An authorization code. */
  code: seconds(60),
  /** A pushed request that no browser has opened (RFC 9126 §2.2): docs/clients.md#pushed-requests. */
  // FAPI 2.0 allows less than 600.
  pushedRequest: seconds(60, { max: 600 }),
  /** An opaque access token: 1 hour. */
  accessToken: seconds(3600),
  /** A JWT access token: 10 minutes. */
  jwtAccessToken: seconds(600),
  /** An ID token: 1 hour. */
  idToken: seconds(3600),
  /** A refresh token that is not used: 30 days. */
  refreshTokenIdle: seconds(30 * day),
  /** All refresh tokens of one authorization, counted from the user's consent: 1 year. */
  refreshTokenAbsolute: seconds(365 * day),
  /**
   * The time in which a client that lost a response may repeat a refresh: 1 minute (docs/clients.md#tokens). With 0 a lost
   * response signs the user out.
   */
  refreshGracePeriod: seconds(60, { min: 0 }),
  /**
   * A login in Latchkey's own session without activity: 30 minutes. Then the user signs in again; tokens stay valid.
   */
  sessionIdle: seconds(1800),
  /** Any login, regardless of activity: 12 hours. */
  sessionAbsolute: seconds(12 * 3600),
  /** A client that registered itself and that no user has allowed anything: 30 days (docs/registration.md#limits). */
  unusedClient: seconds(30 * day),
  /** An event in the database, with `storedEvents`: 90 days. */
  event: seconds(90 * day),
  /** A signing key, until its successor is created: 90 days. */
  signingKey: seconds(90 * day),
  /**
   * The time between publishing a signing key and signing with it: 1 day. It must exceed the time for which clients cache keys.
   */
  signingKeyLead: seconds(day),
}

type LifetimeSchemasMembers = typeof members

/** The members of `lifetimes`. */
export interface LifetimeSchemas extends LifetimeSchemasMembers {}

export const lifetimes: ObjectSchema<LifetimeSchemas> = object(members)

/** Lifetimes in seconds. */
export interface Lifetimes extends CheckedMembers<(typeof lifetimes)['members']> {}
