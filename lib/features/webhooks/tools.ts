import type { FeatureTools } from '../feature.ts'
import { enableWebhooksCommand, replayWebhooksCommand, webhooksCommand } from './commands.ts'
import { samples } from './samples.ts'

export const tools: FeatureTools = {
  // The first whose words fit is taken, so the longer names come first.
  commands: [replayWebhooksCommand, enableWebhooksCommand, webhooksCommand],
  samples,
}
