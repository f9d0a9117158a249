import type { VisitedTarget } from './visit.ts'

/** The result of an attack: one line for each wrong response, or the reason why it was skipped. */
export type AttackOutcome = readonly string[] | { readonly skipped: string }

/** One attack, and the response that it must get. */
export interface Attack {
  /** The attempt, in a few words. */
  readonly name: string
  /** The sections that require the defence. */
  readonly source: string
  readonly expected: string
  /** The remedy in the host; Latchkey alone withstands the attack. */
  readonly remedy: string
  run(target: VisitedTarget): Promise<AttackOutcome>
}
