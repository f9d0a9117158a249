import type { VisitedTarget } from './visit.ts'

/** The result of an attack: one line for each wrong response, or the reason why it was skipped. */
export type Outcome = readonly string[] | { readonly skipped: string }

/** One attack, and the response that it must get. */
export interface Attack {
  /** What it tries. */
  readonly name: string
  /** The sections that require the defence. */
  readonly source: string
  readonly expected: string
  /** What the host can do; Latchkey alone withstands the attack. */
  readonly remedy: string
  run(target: VisitedTarget): Promise<Outcome>
}
