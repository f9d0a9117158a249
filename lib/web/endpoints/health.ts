import type { RequestHandler, Response } from 'express'
import type { ServerSetup } from '../../oauth/authorization-server.ts'
import { assertDatabaseAnswers } from '../../storage/database/open.ts'
import { withTimeout } from '../../storage/database/with-timeout.ts'
import { assertDatabaseWrites } from '../../storage/repositories/index.ts'
import { runHandler } from '../http/run-handler.ts'
import { sendJson } from '../http/send.ts'

/** Milliseconds that a result is reused, however many probes ask. */
const freshness = 1000

/** Milliseconds that a probe waits; probes themselves give up early. */
const timeoutMs = 2000

/**
 * Answers 200 while schema and keys are available, the database reads and writes, and the server is not closing, else 503:
 * for load balancers and orchestrators.
 */
export const healthEndpoint = (server: ServerSetup): RequestHandler => {
  const { logger } = server.options
  let isHealthy = true
  let findAt = Number.NEGATIVE_INFINITY
  let finding: Promise<boolean> | undefined

  const find = async (): Promise<boolean> => {
    try {
      await server.ready()
      await assertDatabaseAnswers(server.database)
      await assertDatabaseWrites(server.database, { now: server.now() })
      if (!isHealthy) logger.info('latchkey: healthy again')
      return true
    } catch (error) {
      // Probes come every few seconds; an outage is logged once.
      if (isHealthy) logger.error('latchkey: not healthy', error)
      return false
    }
  }
  const check = (): Promise<boolean> => {
    finding ??= find().then((found) => {
      isHealthy = found
      findAt = performance.now() + freshness
      finding = undefined
      return found
    })
    // The work continues, and the next probe waits for the same.
    return withTimeout(finding, timeoutMs, () => false)
  }

  const answer = async (res: Response): Promise<void> => {
    const found = performance.now() < findAt ? isHealthy : await check()
    if (found && !server.closing.aborted) sendJson(res, { status: 'ok' })
    else sendJson(res, { status: 'unavailable' }, { status: 503, headers: { 'Retry-After': '1' } })
  }
  return (_req, res, next) => runHandler(res, next, () => answer(res))
}
