import type { FeatureTools } from '../../feature.ts'
import { enableWebhooksCommand, replayWebhooksCommand, webhooksCommand } from './commands.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = {
  commands: [webhooksCommand, replayWebhooksCommand, enableWebhooksCommand],
  samples,
}
