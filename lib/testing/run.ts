import type { RequestListener } from 'node:http'
import type { Attack } from './attack.ts'
import { attacks } from './attacks/index.ts'
import { listening } from './listening.ts'
import { type AttackOptions, assertAttackOptions } from './options.ts'
import { blackedOut } from './outcome.ts'
import { type AttackReport, type Finding, reportOf } from './report.ts'
import { openTarget } from './target.ts'
import { type VisitedTarget, visit } from './visit.ts'

/** Lines of one finding, and characters of a line; more of the same help nobody. */
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
): Finding => ({ attack, expected, came: linesOf(deviations), source, remedy })

/** An attack that breaks off has shown nothing, so it is a finding too. */
const outcomeOf = async (one: Attack, target: VisitedTarget): ReturnType<Attack['run']> =>
  one
    .run(target)
    .catch((error: unknown) => [
      `it could not be carried through: ${error instanceof Error ? error.message : String(error)}`,
    ])

/**
 * Tries the attacks that an authorization server must withstand on the host's own app, over HTTP: what the app puts
 * before, around and behind the router is attacked with it. For the host's tests: it signs in, allows and revokes, so
 * give it a database of its own and no limit on requests.
 *
 * @param app the Express app, which then listens on a free port of 127.0.0.1, or the loopback URL of one that runs
 * @returns what was found; as text, {@link AttackReport.toString}, it is what a failing test should show
 * @throws OptionsError for wrong options, and for a URL beyond loopback
 * @throws Error when no honest sign-in succeeds, since everything would then seem to be refused
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
  assertAttackOptions(options)
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
