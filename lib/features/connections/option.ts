import { refuse } from '../../options/check.ts'
import type { Options } from '../../options/options.ts'

/** Records the steps by which clients connect: docs/doctor.md#connections. It requires `storedEvents`. */
export const members = {}

/** @throws OptionsError without stored events */
export const assertStored = ({ storedEvents }: Options): void => {
  if (!storedEvents) refuse('connections() needs storedEvents: true')
}
