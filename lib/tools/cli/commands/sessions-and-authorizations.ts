import { setTimeout as delay } from 'node:timers/promises'
import type { ServerSetup } from '../../../oauth/authorization-server.ts'
import { timeOf } from '../../../protocol/explanation.ts'
import {
  type Authorization,
  authorizationAdministration,
  type ListOptions,
  type ListPage,
  listAuthorizationPage,
  listSessions,
  type Session,
  sessionAdministration,
} from '../../../users/account/sessions-and-authorizations.ts'
import { type Command, type CommandContext, type Invocation, UsageError } from '../../command.ts'
import { type Say, withProgress } from '../progress.ts'
import { print, printJson, printNote, titledTable } from '../terminal.ts'

/** The kind of thing that the command lists and ends: `oauth.sessions` or `oauth.authorizations`. */
interface Kind<Item extends { readonly id: string }> {
  readonly one: 'session' | 'authorization'
  /** The word of the commands. */
  readonly many: 'sessions' | 'authorizations'
  readonly headings: readonly string[]
  row(item: Item): readonly string[]
  /** The consequence of ending one of them. */
  readonly consequence: string
  list(context: CommandContext, options: ListOptions): Promise<ListPage<Item>>
  end(server: ServerSetup): (id: string) => Promise<boolean>
}

const sessions: Kind<Session> = {
  one: 'session',
  many: 'sessions',
  headings: ['ID', 'USER', 'CLIENTS', 'SIGNED IN', 'LAST USED', 'EXPIRES', 'DEVICE', 'ADDRESS'],
  row: ({ id, subject, clients, signedInAt, lastUsedAt, expiresAt, device, address = '' }) => [
    id,
    subject,
    clients.join(' '),
    ...[signedInAt, lastUsedAt, expiresAt].map(timeOf),
    [device.browser, device.system].filter((part) => part !== undefined).join(' on '),
    address,
  ],
  consequence:
    'Everything that was granted under a session without offline_access ends with it. Clients with a\n' +
    'backchannel_logout_uri get a logout token; the command waits until they have answered.',
  list: listSessions,
  end: (server) => sessionAdministration(server).end,
}

const authorizations: Kind<Authorization> = {
  one: 'authorization',
  many: 'authorizations',
  headings: ['ID', 'USER', 'CLIENT', 'ORGANIZATION', 'SCOPES', 'SINCE', 'LAST USED', 'EXPIRES'],
  row: ({ id, subject, clientId, organization = '', scopes, createdAt, lastUsedAt, expiresAt }) => [
    id,
    subject,
    clientId,
    organization,
    scopes.join(' '),
    ...[createdAt, lastUsedAt, expiresAt].map(timeOf),
  ],
  consequence:
    'All tokens of an authorization end with it. The consent stays: latchkey consents revoke removes both.',
  list: listAuthorizationPage,
  end: (server) => authorizationAdministration(server).end,
}

const filters = {
  user: { value: 'ID', help: 'only those of the user with this id' },
  client: { value: 'ID', help: 'only those of this client' },
  organization: { value: 'ID', help: 'only those in this organization' },
} satisfies Command['options']

const filtersOf = (invocation: Invocation): ListOptions =>
  Object.fromEntries(
    Object.keys(filters).flatMap((name) => {
      const value = invocation.text(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** @throws UsageError unless it is from 1 to 100 */
const limitOf = (invocation: Invocation): Pick<ListOptions, 'limit'> => {
  const limit = invocation.text('limit')
  if (limit === undefined) return {}
  if (!/^([1-9]\d?|100)$/.test(limit)) throw new UsageError('--limit must be a whole number from 1 to 100')
  return { limit: Number(limit) }
}

/** A command without its name and summary. */
type Body = Omit<Command, 'name' | 'summary'> & { run: Extract<Command, { run: unknown }>['run'] }

const listing = <Item extends { readonly id: string }>(kind: Kind<Item>): Body => {
  const { many, headings } = kind
  return {
    details: `The same pages as oauth.${many}.list(). USER is the id of the user as \`users\` finds it.`,
    options: {
      ...filters,
      after: { value: 'ID', help: 'the page that follows this id' },
      limit: { value: 'NUMBER', help: 'the most that the page has, from 1 to 100; 50 by default' },
      json: { help: 'print JSON' },
    },
    example: `latchkey ${many} list --user 42`,
    check: (invocation) => void limitOf(invocation),
    async run(context, invocation) {
      const options = { ...filtersOf(invocation), ...limitOf(invocation), after: invocation.text('after') }
      const { items, next } = await kind.list(context, options)
      if (invocation.flag('json')) return printJson({ items, ...(next !== undefined && { next }) })
      if (items.length > 0) print(...titledTable([headings, ...items.map(kind.row)]))
      if (next !== undefined) printNote(`for the next page, add: --after=${next}`)
      else if (items.length === 0) printNote(`there are no such ${many}`)
    },
  }
}

/** The ids on all pages. */
const allIds = async <Item extends { readonly id: string }>(
  context: CommandContext,
  { list }: Kind<Item>,
  options: ListOptions,
): Promise<string[]> => {
  const ids: string[] = []
  let page: ListPage<Item> | undefined
  do {
    page = await list(context, { ...options, limit: 100, after: page?.next })
    for (const { id } of page.items) ids.push(id)
  } while (page.next !== undefined)
  return ids
}

/** The number that end before the command waits for the answers of clients. */
const together = 100

/** Waits until clients have got their logout tokens, and shows that it waits. */
const settle = async (server: ServerSetup, say: Say): Promise<void> => {
  const settled = server.settled().then(() => true)
  while (!(await Promise.race([settled, delay(1000, false)]))) say('waiting for the answers of clients')
}

/**
 * Ends them as the server does, so that events are stored and clients are notified.
 *
 * @returns the ids of those that had been active
 */
const endAll = async (
  context: CommandContext,
  { end }: Pick<Kind<never>, 'end'>,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const server = await context.server()
  const endOne = end(server)
  return withProgress(async (say) => {
    const ended: string[] = []
    for (const [index, id] of ids.entries()) {
      if (await endOne(id)) ended.push(id)
      say(`ended ${index + 1} of ${ids.length}`)
      if ((index + 1) % together === 0) await settle(server, say)
    }
    await settle(server, say)
    return ended
  })
}

const ending = <Item extends { readonly id: string }>(kind: Kind<Item>): Body => {
  const { one, many, consequence } = kind
  const counted = (count: number): string => `${count} ${count === 1 ? one : many}`
  return {
    details:
      `With ids it ends these at once. With filters, or with --all, it prints how many there are, and ends them with --yes.\n` +
      consequence,
    rest: '[ID…]',
    options: {
      ...filters,
      all: { help: `the ${many} of all users` },
      yes: { help: `confirm that all ${many} that the filters find end` },
    },
    example: `latchkey ${many} end --user 42 --yes`,
    check(invocation) {
      const isFiltered = Object.keys(filtersOf(invocation)).length > 0
      const ways = [invocation.arguments.length > 0, isFiltered, invocation.flag('all')]
      if (ways.filter((way) => way).length !== 1)
        throw new UsageError('give ids, or filters such as --user, or --all')
    },
    async run(context, invocation) {
      const given = invocation.arguments
      if (given.length > 0) {
        const ended = await endAll(context, kind, given)
        const missing = given.filter((id) => !ended.includes(id))
        for (const id of ended) printNote(`the ${one} ${id} has ended`)
        if (missing.length > 0) throw new Error(`no active ${one} has the id ${missing.join(', ')}`)
        return
      }
      const ids = await allIds(context, kind, filtersOf(invocation))
      if (ids.length > 0 && !invocation.flag('yes')) {
        throw new UsageError(`this ends ${counted(ids.length)}; nothing was changed; to confirm, add --yes`)
      }
      const ended = ids.length === 0 ? [] : await endAll(context, kind, ids)
      printNote(`ended ${counted(ended.length)}`)
    },
  }
}

/** `latchkey sessions list` */
export const listSessionsCommand: Command = {
  name: 'sessions list',
  summary: 'lists the active sessions of users, by pages',
  ...listing(sessions),
}

/** `latchkey sessions end` */
export const endSessionsCommand: Command = {
  name: 'sessions end',
  summary: 'ends sessions, by their ids or all that a filter finds',
  ...ending(sessions),
}

/** `latchkey authorizations list` */
export const listAuthorizationsCommand: Command = {
  name: 'authorizations list',
  summary: 'lists the active authorizations of users, by pages',
  ...listing(authorizations),
}

/** `latchkey authorizations end` */
export const endAuthorizationsCommand: Command = {
  name: 'authorizations end',
  summary: 'ends authorizations, by their ids or all that a filter finds',
  ...ending(authorizations),
}
