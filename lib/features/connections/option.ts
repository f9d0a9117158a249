import type { FeatureOptions, Options } from '../../options/options.ts'
import { flag } from '../../options/schema.ts'

const features = {
  /** Records, with `storedEvents`, the steps by which clients connect: docs/doctor.md#connections. */
  connections: flag(true),
}

type Features = typeof features

declare module '../../options/options.ts' {
  interface FeatureSchemas extends Features {}
}

/** Whether connections are recorded. */
export const isRecorded = ({ features: { connections, storedEvents } }: Options): boolean =>
  connections && storedEvents

export const option: FeatureOptions = { features }
