import type { FeatureTools } from '../feature.ts'
import { connectionsCommand, explainConnection } from './commands.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = {
  commands: [connectionsCommand],
  explain: explainConnection,
  samples,
}
