import type { RequestListener } from 'node:http'
import type { Attack } from './attack.ts'
import { attacks } from './attacks/index.ts'
import { listening } from './listening.ts'
import { type AttackOptions, attackOptions } from './options.ts'
import { blackedOut } from './outcome.ts'
import { type AttackReport, type Finding, reportOf } from './report.ts'
import { openTarget } from './target.ts'
import { type VisitedTarget, visit } from './visit.ts'

/** The maximum number of lines of one finding, and of characters of a line. */
const maxLines = 6
const maxLineLength = 400

const linesOf = (deviations: readonly string[]): string => {
  const more = deviations.length - maxLines
  const shown = deviations.slice(0, maxLines).map((line) => blackedOut(line).slice(0, maxLineLength))
  return [...shown, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

const findingOf = (
  { name: attack, expected, source, remedy }: Attack,
  deviations: readonly string[],
): Finding => ({ attack, expected, actual: linesOf(deviations), source, remedy })

/** Whether nothing listens where the app was. */
const isGone = (error: unknown): boolean => {
  if (typeof error !== 'object' || error === null) return false
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return code === 'ECONNREFUSED' || isGone(cause)
}

/** An attack that does not complete proves nothing, so it is a finding as well, unless the app is gone. */
const outcomeOf = async (one: Attack, target: VisitedTarget): ReturnType<Attack['run']> =>
  one.run(target).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
    if (!isGone(error)) return [`it could not be completed: ${message}`]
    throw new Error(
      `latchkey/testing: the app no longer listens, so nothing can be said about it; it ended before or during “${one.name}”: ${message}`,
      { cause: error },
    )
  })

/**
 * Attacks the host's own app over HTTP, including its middleware and proxies, for the host's tests. It really signs in,
 * allows and revokes, so use a test database and no rate limits.
 *
 * @param app the Express app, which then listens on a free port of 127.0.0.1, or the loopback URL of a running app
 * @returns the report; as a string it is a useful message for a failing test
 * @throws OptionsError for wrong options, and for a URL that is not on loopback
 * @throws Error if a normal sign-in fails, because every attack would then seem to be refused, and if the app ends
 * @example
 * const report = await attack(app, {
 *   issuer: 'http://localhost:3000/oauth',
 *   client: { client_id: 'shop', client_secret: secret, redirect_uri: 'http://localhost:4000/callback' },
 *   user: { username: 'ada@example.com', password: 'her password' },
 * })
 * assert.deepEqual(report.findings, [], String(report))
 */
export const attack = (app: RequestListener | string | URL, options: AttackOptions): Promise<AttackReport> =>
  runAttacks(attacks, app, options)

export const runAttacks = async (
  tried: readonly Attack[],
  app: RequestListener | string | URL,
  options: AttackOptions,
): Promise<AttackReport> => {
  attackOptions.check(options, '')
  const { base, close } = await listening(app)
  try {
    const target = await visit(await openTarget(base, options))
    const findings: Finding[] = []
    const passed: string[] = []
    const skipped: { attack: string; why: string }[] = []
    for (const one of tried) {
      const outcome = await outcomeOf(one, target)
      if ('skipped' in outcome) skipped.push({ attack: one.name, why: outcome.skipped })
      else if (outcome.length > 0) findings.push(findingOf(one, outcome))
      else passed.push(one.name)
    }
    return reportOf({ findings, passed, skipped })
  } finally {
    await close()
  }
}
