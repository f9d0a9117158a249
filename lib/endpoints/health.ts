import type { RequestHandler } from 'express'
import type { AuthorizationServer } from '../authorization-server.ts'
import { assertDatabaseAnswers } from '../database/open.ts'
import { sendJson } from '../http/send.ts'

/** Milliseconds that a finding holds: however many ask, the database is asked once in that time. */
const freshness = 1000

/** Milliseconds after which whoever asks is told no; probes give up early themselves. */
const timeoutMs = 2000

/** False when the work is not done in time; it goes on, and whoever asks next waits for the same. */
const inTime = (work: Promise<boolean>): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs)
    // The work never fails: a failure is what it found.
    work.then((result) => {
      clearTimeout(timer)
      resolve(result)
    })
  })

/** Whether schema, keys and database are there and the server is not closing: for load balancers and orchestrators. */
export const healthEndpoint = (server: AuthorizationServer): RequestHandler => {
  const { logger } = server.options
  let isHealthy = true
  let findAt = Number.NEGATIVE_INFINITY
  let finding: Promise<boolean> | undefined

  const find = async (): Promise<boolean> => {
    try {
      await server.ready()
      await assertDatabaseAnswers(server.database)
      if (!isHealthy) logger.info('latchkey: healthy again')
      return true
    } catch (error) {
      // Probes come every few seconds; an outage is told once.
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
    return inTime(finding)
  }

  return async (_req, res) => {
    const found = performance.now() < findAt ? isHealthy : await check()
    if (found && !server.closing.aborted) sendJson(res, { status: 'ok' })
    else sendJson(res, { status: 'unavailable' }, { status: 503, headers: { 'Retry-After': '1' } })
  }
}
