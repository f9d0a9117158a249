import type { UserSection } from '../../web/endpoints/operator-page.ts'
import { removeSecondFactorOf } from './removal.ts'
import { countRecoveryCodes, findSecondFactorRecord } from './second-factors-table.ts'

const codes = (count: number): string =>
  count === 1 ? '1 recovery code is left' : `${count} recovery codes are left`

/** A user's second factor, as operators see it. */
export const secondFactorSection: UserSection = {
  name: 'second-factor',
  title: 'Two-step sign-in',
  async read({ database }, subject) {
    const record = await findSecondFactorRecord(database, { subject })
    if (record?.expiresAt !== null) return { summary: 'Off.' }
    const left = await countRecoveryCodes(database, { subject })
    return {
      summary: `On. ${codes(left)}.`,
      act: {
        id: 'reset',
        label: 'Reset',
        question: 'Reset two-step sign-in?',
        effect:
          'From then on the password alone is enough, until the user sets it up again. The recovery codes no longer work, and all logins, codes and tokens of the user end. Make sure first that this is the person who owns the account.',
      },
    }
  },
  async run({ server, subject, ...by }) {
    await removeSecondFactorOf(server, subject, by)
  },
}
