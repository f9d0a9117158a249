import type { Options } from '../../../options/options.ts'
import { isUserMapping } from '../../../options/users.ts'
import { findUserByUsername } from '../../../storage/repositories/users.ts'
import { isPassword, maxPasswordLength } from '../../../users/passwords/passwords.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { seedUsers } from '../../seed.ts'
import { askInSilence, isInteractive, print, readInput, table } from '../terminal.ts'

/** NIST SP 800-63B §5.1.1.2. */
const minPasswordLength = 8

/** Not an option: other users of the machine can read the command line. */
const readPassword = async (): Promise<string> => {
  const given = process.env.LATCHKEY_PASSWORD
  const password = given ?? (isInteractive() ? await chosenPassword() : await readInput())
  if (isPassword(password) && [...password].length >= minPasswordLength) return password
  throw new Error(
    `the password must have ${minPasswordLength} to ${maxPasswordLength} characters, none of them NUL`,
  )
}

const chosenPassword = async (): Promise<string> => {
  const password = await askInSilence('Password: ')
  if (password === (await askInSilence('Once more: '))) return password
  throw new Error('the two passwords differ')
}

/** Refuses what the database cannot store or a login form cannot send. */
const isPlain = (text: string): boolean =>
  text.trim() === text && text !== '' && text.length <= 255 && !/\p{Cc}/u.test(text)

const assertAccount = (invocation: Invocation): void => {
  if (invocation.text('username') === undefined) {
    throw new UsageError('user create needs --username; see: latchkey user create --help')
  }
  for (const option of ['username', 'name', 'email']) {
    if (isPlain(invocation.text(option) ?? 'absent')) continue
    throw new Error(
      `--${option} must have 1 to 255 characters, without control characters or spaces at either end`,
    )
  }
  const email = invocation.text('email')
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new Error('--email must be an e-mail address')
  if (invocation.flag('email-verified') && email === undefined) {
    throw new UsageError('--email-verified needs --email')
  }
}

/** @throws Error if accounts are not in Latchkey's own table */
export const assertOwnUsers = ({ users }: Options, action: string): void => {
  if (users === undefined) return
  const place = isUserMapping(users) ? `in your table ${users.table}` : 'behind your functions'
  throw new Error(`the option users is set, so accounts are ${place}; ${action} them there`)
}

/** `latchkey user create` */
export const createUserCommand: Command = {
  name: 'user create',
  summary: 'creates an account, if your app has no user table',
  usage: '--username NAME',
  details:
    'Asks for a password of at least 8 characters, or reads it from LATCHKEY_PASSWORD or from piped standard input.\n' +
    'Prints the subject identifier, by which clients know the account.',
  options: {
    username: { value: 'NAME', help: 'the login name' },
    name: { value: 'NAME', help: 'full name, as clients see it' },
    email: { value: 'ADDRESS', help: 'e-mail address, as clients see it' },
    'email-verified': { help: 'the address is verified' },
  },
  example: 'latchkey user create --username ada --name "Ada Lovelace" --email ada@example.com',
  check: assertAccount,
  async run({ database, hostKnex, options }, invocation) {
    assertOwnUsers(options, 'create')
    const username = invocation.text('username') ?? ''
    if (await findUserByUsername(database, { username })) throw new Error(`user ${username} already exists`)
    const account = {
      username,
      password: await readPassword(),
      name: invocation.text('name'),
      email: invocation.text('email'),
      email_verified: invocation.flag('email-verified'),
    }
    const [user] = await seedUsers(hostKnex, [account], { database: options.database })
    print(...table(Object.entries({ ...user })))
  },
}
