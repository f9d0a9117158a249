import type { Options } from '../../options/resolve.ts'

/** The checked option. */
export type DeveloperOption = NonNullable<Options['developers']>

/** Finds the checked option; undefined while developers are off. */
export const developerOption = ({ developers }: Pick<Options, 'developers'>): DeveloperOption | undefined =>
  developers
