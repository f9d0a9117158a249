import { hashSecret } from '../keys/secrets.ts'
import { object, required } from '../options/schema.ts'
import type { Logger } from '../options/server.ts'
import { OAuthError } from '../protocol/errors.ts'
import type { TokenClaims } from './auth-info.ts'
import { introspection } from './introspection.ts'

const { clientId, clientSecret } = introspection.members

/** The client by which an API reports. */
export const reportCalls = object({
  /** A confidential client that may introspect the tokens of this API. */
  clientId: required(clientId),
  /** Its secret, sent by HTTP Basic. */
  clientSecret: required(clientSecret),
})

/** Seconds. */
const window = 3600
// Limits, so that many tokens fill neither the memory nor the line to the issuer.
const maxTokens = 10_000
const maxUnderway = 10

interface ReportContext {
  readonly logger: Logger
  /** Epoch seconds. */
  now(): number
}

/**
 * Lets the issuer see calls of an API that verifies JWTs by itself. It asks the issuer about a token in the background: once
 * an hour for each token, at most ten at one time, and 10,000 in an hour. The answer changes nothing.
 *
 * @param ask introspects a token
 * @returns a function to call with each token that the issuer signed
 */
export const createCallReports = (
  ask: (token: string) => Promise<TokenClaims>,
  { logger, now }: ReportContext,
): ((token: string) => void) => {
  const reported = new Set<string>()
  let current = 0
  let underway = 0
  let isFailing = false

  const send = async (token: string): Promise<void> => {
    underway += 1
    try {
      await ask(token)
      isFailing = false
    } catch (error) {
      // A token that the issuer does not accept is reported all the same.
      const isFailure = !(error instanceof OAuthError && error.code === 'invalid_token')
      if (isFailure && !isFailing) logger.warn('latchkey: calls cannot be reported to the issuer', error)
      isFailing = isFailure
    } finally {
      underway -= 1
    }
  }

  return (token) => {
    const hour = Math.floor(now() / window)
    if (hour !== current) reported.clear()
    current = hour
    const key = hashSecret(token)
    if (reported.has(key) || reported.size >= maxTokens || underway >= maxUnderway) return
    reported.add(key)
    void send(token)
  }
}
