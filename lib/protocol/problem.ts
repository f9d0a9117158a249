/** A mistake of the host, and the line that mends it. */
export interface Problem {
  readonly problem: string
  readonly fix: string
}

/** @example problemInWords({ problem: 'the table is missing', fix: 'run: npx latchkey migrate' }) */
export const problemInWords = ({ problem, fix }: Problem): string => `${problem}; ${fix}`
