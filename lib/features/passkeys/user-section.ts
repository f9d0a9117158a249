import type { UserSection } from '../../web/endpoints/operator-page.ts'
import { removeOnePasskey } from './add.ts'
import { listPasskeys } from './table.ts'

const nameOf = (name: string): string => name || 'Passkey'

/** A user's passkeys, as operators see them. */
export const passkeysSection: UserSection = {
  name: 'passkeys',
  title: 'Passkeys',
  async read({ database }, subject) {
    const passkeys = await listPasskeys(database, { subject })
    if (passkeys.length === 0) return { summary: 'None.' }
    return {
      summary: passkeys.length === 1 ? '1 passkey signs in.' : `${passkeys.length} passkeys sign in.`,
      rows: passkeys.map(({ hash, name, createdAt, lastUsedAt }) => ({
        name: nameOf(name),
        facts: [
          { label: 'Added', value: { time: createdAt } },
          { label: 'Last used', value: lastUsedAt === null ? 'never' : { time: lastUsedAt } },
        ],
        act: {
          id: hash,
          label: 'Remove',
          question: `Remove the passkey “${nameOf(name)}”?`,
          effect:
            'It no longer signs in. Logins that it made stay; end them too if another person may have used it.',
        },
      })),
    }
  },
  async run({ server, subject, info, actor }, hash) {
    await removeOnePasskey(server, { hash, subject }, { info, actor })
  },
}
