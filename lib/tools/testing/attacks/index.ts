import type { Attack } from '../attack.ts'
import { anotherClient } from './another-client.ts'
import { authorizationCodeAttacks } from './authorization-code.ts'
import { authorizationResponseAttacks } from './authorization-response.ts'
import { bearerTokenAttacks } from './bearer-token.ts'
import { caching } from './caching.ts'
import { clientAuthenticationAttacks } from './client-authentication.ts'
import { cookieAttacks } from './cookies.ts'
import { crossOrigin } from './cross-origin.ts'
import { errors } from './errors.ts'
import { formAttacks } from './forms.ts'
import { hostHeader } from './host-header.ts'
import { loginSessionAttacks } from './login-session.ts'
import { logoutFromElsewhere } from './logout.ts'
import { pageAttacks } from './pages.ts'
import { redirectUriAttacks } from './redirect-uri.ts'
import { refreshTokenAttacks } from './refresh-token.ts'
import { requestBodyAttacks } from './request-body.ts'
import { returnTo } from './return-to.ts'
import { anotherBrowser } from './waiting-request.ts'
import { wrongPasswordAttacks } from './wrong-passwords.ts'

/** Every attack, in the order in which they run. Attacks that reach limits run last. */
export const attacks: readonly Attack[] = [
  ...redirectUriAttacks,
  ...authorizationResponseAttacks,
  ...loginSessionAttacks,
  ...formAttacks,
  anotherBrowser,
  logoutFromElsewhere,
  returnTo,
  ...cookieAttacks,
  ...pageAttacks,
  caching,
  crossOrigin,
  hostHeader,
  ...authorizationCodeAttacks,
  ...refreshTokenAttacks,
  anotherClient,
  ...bearerTokenAttacks,
  ...requestBodyAttacks,
  errors,
  ...clientAuthenticationAttacks,
  ...wrongPasswordAttacks,
]
