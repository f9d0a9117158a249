import { OAuthError } from '../../protocol/errors.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type JsonAnswer, jsonAnswer } from './send.ts'

const statusOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined

/** Every error as an OAuthError: ours unchanged, one of Express by its status, any other as `server_error`. */
export const oauthErrorOf = (error: unknown): OAuthError => {
  if (error instanceof OAuthError) return error
  const status = statusOf(error)
  if (status !== undefined && status >= 400 && status < 500) {
    return refusal('request_unreadable', { status, cause: error })
  }
  return refusal('unexpected', { cause: error })
}

/**
 * The answer to an error (RFC 6749 §5.2).
 *
 * @param errorId under which the log or `latchkey explain` has the reason; undefined if neither has it
 */
export const jsonError = (
  { code, message, status, headers }: OAuthError,
  errorId: string | undefined,
): JsonAnswer =>
  jsonAnswer({ error: code, error_description: message, error_id: errorId }, { status, headers })
