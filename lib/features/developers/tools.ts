import type { FeatureTools } from '../feature.ts'
import { approveClientCommand, clientRequestsCommand, refuseClientCommand } from './commands.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = {
  commands: [clientRequestsCommand, approveClientCommand, refuseClientCommand],
  samples,
}
