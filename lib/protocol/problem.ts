/** A mistake of the host, and the line that mends it. */
export interface Problem {
  readonly problem: string
  readonly fix: string
}

/** @example problemInWords({ problem: 'the table is missing', fix: 'run: npx latchkey migrate' }) */
export const problemInWords = ({ problem, fix }: Pick<HostError, keyof Problem>): string =>
  fix === undefined ? problem : `${problem}; ${fix}`

/**
 * An error in our own words, for the host. Code that shows or judges it reads its members and never its message.
 *
 * @example throw new HostError('two tables are missing', { fix: 'run: npx latchkey migrate' })
 */
export class HostError extends Error {
  override readonly name: string = 'HostError'
  /** The mistake, without the mark of our messages. */
  readonly problem: string
  /** The line that mends it; undefined if that differs from case to case. */
  readonly fix: string | undefined

  constructor(
    problem: string,
    options: { readonly fix?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(`latchkey: ${problemInWords({ problem, fix: options.fix })}`, options)
    this.problem = problem
    this.fix = options.fix
  }
}
