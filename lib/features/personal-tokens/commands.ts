import { print, printJson, printNote, titledTable } from '../../tools/cli/terminal.ts'
import type { Command } from '../../tools/command.ts'
import { revokePersonalToken } from './issue.ts'
import { findPersonalTokenById, listPersonalTokens, type PersonalToken } from './table.ts'

const day = (time: number | null): string =>
  time === null ? 'never' : new Date(time * 1000).toISOString().slice(0, 10)

const headings = ['ID', 'NAME', 'SCOPES', 'CREATED', 'LAST USED', 'EXPIRES']

// A user chose the name: it must not move the cursor of the operator.
const plain = (name: string): string => name.replaceAll(/\p{C}/gu, '?')

const rowOf = ({ id, name, scopes, createdAt, lastUsedAt, expiresAt }: PersonalToken): string[] => [
  id,
  plain(name),
  scopes.join(' '),
  day(createdAt),
  day(lastUsedAt),
  day(expiresAt),
]

/** `latchkey personal-tokens list` */
export const listPersonalTokensCommand: Command = {
  name: 'personal-tokens list',
  summary: 'lists the personal access tokens of a user',
  arguments: ['SUBJECT'],
  details: 'SUBJECT is the id of the user as `users` finds it. The tokens themselves are not stored.',
  options: { json: { help: 'print JSON' } },
  example: 'latchkey personal-tokens list 42',
  async run({ database }, invocation) {
    const [subject = ''] = invocation.arguments
    const tokens = await listPersonalTokens(database, { subject })
    if (invocation.flag('json')) return printJson(tokens)
    if (tokens.length === 0) return printNote(`user ${subject} has no personal access token`)
    print(...titledTable([headings, ...tokens.map(rowOf)]))
  },
}

/** `latchkey personal-tokens revoke` */
export const revokePersonalTokenCommand: Command = {
  name: 'personal-tokens revoke',
  summary: 'revokes a personal access token by its id',
  arguments: ['ID'],
  details:
    'The id is that of `latchkey personal-tokens list`. If you have the token itself: latchkey token revoke',
  options: {},
  example: 'latchkey personal-tokens revoke Zt3yAqX0mS1Vh6cJ9kLw2Q',
  async run(context, invocation) {
    const [id = ''] = invocation.arguments
    const token = await findPersonalTokenById(context.database, { id })
    if (token === undefined || !(await revokePersonalToken(context, token)))
      throw new Error(`no personal access token has the id ${id}`)
    printNote(`the personal access token ${id} of user ${token.subject} is revoked`)
  },
}
