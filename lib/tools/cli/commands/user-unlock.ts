import { openPairwiseSalt } from '../../../keys/pairwise-salt.ts'
import { createThrottle } from '../../../limits/throttle.ts'
import { unlockLoginName } from '../../../users/account/unlock.ts'
import { createUsers } from '../../../users/index.ts'
import type { Command } from '../../command.ts'
import { printNote } from '../terminal.ts'

/** `latchkey user unlock` */
export const unlockUserCommand: Command = {
  name: 'user unlock',
  summary: 'lets a user sign in again after too many wrong passwords or codes',
  arguments: ['USERNAME'],
  details:
    'Takes the name as people type it at sign-in. It ends the wait under this name at every address,\n' +
    'also after wrong codes of a second factor.\n' +
    'Limits of an address stay, because they protect other accounts.',
  options: {},
  example: 'latchkey user unlock ada',
  async run({ database, hostKnex: knex, options, installed, events, now }, { arguments: [username = ''] }) {
    if (options.limits.store === 'memory') {
      throw new Error(
        "limits.store is 'memory', so each process of your app has its own locks; call oauth.users.unlock() there",
      )
    }
    const pairwiseSalt = await openPairwiseSalt(database, options.secrets)
    const throttle = createThrottle(options.limits, { database, now })
    const users = createUsers({ ...options, secret: options.secrets[0], knex, database })
    const wasLocked = await unlockLoginName({ pairwiseSalt, throttle, users, installed, events }, username)
    printNote(`user ${username} ${wasLocked ? 'can sign in again' : 'was not locked'}`)
  },
}
