import type { PersonalTokenOptions } from '../../options/options.ts'

/** The checked option. */
export type PersonalTokenOption = Required<PersonalTokenOptions>
