import { setUserDisabled } from '../../../storage/repositories/users.ts'
import type { Command, CommandContext } from '../../command.ts'
import { printNote } from '../terminal.ts'
import { assertOwnUsers } from './user.ts'

const setDisabled = async (
  { database, options, now }: CommandContext,
  username: string,
  isDisabled: boolean,
): Promise<void> => {
  assertOwnUsers(options, isDisabled ? 'disable' : 'enable')
  const time = now()
  const isKnown = await setUserDisabled(database, {
    username,
    disabledAt: isDisabled ? time : null,
    now: time,
  })
  if (!isKnown) throw new Error(`user ${username} does not exist`)
  printNote(`user ${username} is ${isDisabled ? 'disabled' : 'enabled'}`)
}

/** `latchkey user disable` */
export const disableUserCommand: Command = {
  name: 'user disable',
  summary: 'disables an account, if your app has no user table',
  arguments: ['USERNAME'],
  details:
    'The user cannot sign in, and their logins, codes and tokens are refused at once. Nothing is deleted:\n' +
    '`latchkey user enable` undoes it.',
  options: {},
  example: 'latchkey user disable ada',
  run: (context, { arguments: [username = ''] }) => setDisabled(context, username, true),
}

/** `latchkey user enable` */
export const enableUserCommand: Command = {
  name: 'user enable',
  summary: 'enables a disabled account',
  arguments: ['USERNAME'],
  details: 'The logins and tokens of the user work again, except those that have expired.',
  options: {},
  example: 'latchkey user enable ada',
  run: (context, { arguments: [username = ''] }) => setDisabled(context, username, false),
}
