import type { UserSection } from '../../web/endpoints/operator-page.ts'
import { revokePersonalToken } from './issue.ts'
import { listPersonalTokens } from './table.ts'

/** A user's personal access tokens, as operators see them. The tokens themselves are not stored. */
export const personalTokensSection: UserSection = {
  name: 'personal-tokens',
  title: 'Personal access tokens',
  async read({ database, now }, subject) {
    const tokens = await listPersonalTokens(database, { subject })
    if (tokens.length === 0) return { summary: 'None.' }
    const valid = tokens.filter(({ expiresAt }) => expiresAt > now()).length
    return {
      summary: valid === 1 ? '1 token is valid.' : `${valid} tokens are valid.`,
      rows: tokens.map(({ id, name, scopes, choices = {}, lastUsedAt, expiresAt }) => ({
        name,
        facts: [
          { label: 'Scopes', value: scopes.join(' ') || 'none' },
          ...Object.entries(choices).map(([label, chosen]) => ({
            label,
            value: chosen === 'all' ? chosen : String(chosen.length),
          })),
          { label: 'Last used', value: lastUsedAt === null ? 'never' : { time: lastUsedAt } },
          { label: expiresAt > now() ? 'Expires' : 'Expired', value: { time: expiresAt } },
        ],
        act: {
          id,
          label: 'Revoke',
          question: `Revoke the token “${name}”?`,
          effect: 'Scripts and tools that use it are refused at once. This cannot be undone.',
        },
      })),
    }
  },
  async run({ server, subject, info, actor }, id) {
    await revokePersonalToken(server, { id, subject }, { info, actor })
  },
}
