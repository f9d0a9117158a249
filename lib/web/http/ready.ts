import type { AuthorizationServer, ServerSetup } from '../../oauth/authorization-server.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { temporarilyUnavailable } from '../../protocol/refusal.ts'
import { withTimeout } from '../../storage/database/with-timeout.ts'

/** Milliseconds that a request waits for the server; migrations that take longer continue without it. */
const timeoutMs = 8000

/**
 * Waits for schema and keys on behalf of a request.
 *
 * @throws OAuthError `temporarily_unavailable` if the server is not ready before the timeout, or cannot become ready
 */
export const readyInTime = async (server: Pick<ServerSetup, 'ready'>): Promise<AuthorizationServer> => {
  try {
    return await withTimeout(server.ready(), timeoutMs, () => {
      throw new Error(`not ready within ${timeoutMs} ms`)
    })
  } catch (error) {
    throw error instanceof OAuthError ? error : temporarilyUnavailable(error)
  }
}
