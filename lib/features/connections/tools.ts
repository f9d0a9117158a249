import type { FeatureTools } from '../../feature.ts'
import { connectionsCommand } from './commands.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = { commands: [connectionsCommand], samples }
