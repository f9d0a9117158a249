import { authorizationDetails } from './authorization-details.ts'
import { dpop } from './dpop.ts'
import { grants } from './grants.ts'
import { mutualTls } from './mutual-tls.ts'
import { flag, object } from './schema.ts'
import { tokenExchange } from './token-exchange.ts'

/** The option `protocol`. */
export const protocol = object({
  /**
   * The implicit and hybrid response types (`id_token`, `code id_token`, …) for clients that register them. They are deprecated
   * (RFC 9700 §2.1.2), because a token in a URL leaks. Use them only for an old client that you cannot change.
   */
  implicit: flag(false),
  /** Authorization requests as JWTs that clients sign (RFC 9101): docs/clients.md#request-objects. */
  requestObjects: flag(false),
  /** Logout pages of clients in hidden frames: docs/clients.md#front-channel-logout. */
  frontChannelLogout: flag(false),
  /** Holds every client to the FAPI 2.0 Security Profile: docs/fapi2.md. Clients that do not comply are not served. */
  fapi2: flag(false),
  /**
   * Clients exchange access tokens that they received for tokens at other resources (RFC 8693): docs/token-exchange.md.
   */
  tokenExchange,
  /**
   * Certificates of clients (RFC 8705): docs/mutual-tls.md. `true` reads the certificates of the TLS connections of the app.
   */
  mutualTls,
  /** Access tokens that only the holder of a key can use (RFC 9449): docs/dpop.md. */
  dpop,
  /** Grants of your own at the token endpoint, each made with `defineGrant()` (RFC 6749 §4.5): docs/grants.md. */
  grants,
  /**
   * Types of `authorization_details` that clients may request (RFC 9396): docs/authorization-details.md. Without it the
   * parameter is ignored.
   */
  authorizationDetails,
})
