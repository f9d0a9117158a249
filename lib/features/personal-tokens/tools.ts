import { hashSecret } from '../../keys/secrets.ts'
import type { FeatureTools } from '../feature.ts'
import { listPersonalTokensCommand, revokePersonalTokenCommand } from './commands.ts'
import { revokePersonalToken } from './issue.ts'
import { samples } from './samples.ts'
import { findPersonalToken } from './table.ts'
import { personalClientId } from './verify.ts'

export const tools: FeatureTools = {
  commands: [listPersonalTokensCommand, revokePersonalTokenCommand],
  samples,
  tokens: {
    async inspect({ database, now }, value) {
      const token = await findPersonalToken(database, { hash: hashSecret(value) })
      if (token === undefined) return undefined
      const { id, name, subject, scopes, choices, createdAt, expiresAt } = token
      return {
        type: 'personal access token',
        more: { id, name, ...(choices && { choices: JSON.stringify(choices) }) },
        clientId: personalClientId(token),
        subject,
        scopes,
        resources: [],
        binding: undefined,
        issuedAt: createdAt,
        expiresAt,
        state: expiresAt <= now() ? 'expired' : 'active',
      }
    },
    async revoke(context, value) {
      const token = await findPersonalToken(context.database, { hash: hashSecret(value) })
      if (token === undefined) return undefined
      await revokePersonalToken(context, token)
      return `the personal access token ${token.id} of user ${token.subject} is revoked`
    },
  },
}
