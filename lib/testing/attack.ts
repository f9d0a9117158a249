import type { VisitedTarget } from './visit.ts'

/** What an attack found: each answer that was wrong in a line, none if all went well; or why it could not be tried. */
export type Outcome = readonly string[] | { readonly skipped: string }

/** One way to misuse the server, and what it must do about it. */
export interface Attack {
  /** What is tried. */
  readonly name: string
  /** The sections that ask for the defence. */
  readonly source: string
  readonly expected: string
  /** What the host can do, since the kit by itself passes. */
  readonly remedy: string
  run(target: VisitedTarget): Promise<Outcome>
}
