import { countedThings } from '../../oauth/choices/consent-things.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import {
  findAuthorization,
  findLogin,
  listNewestAuthorizations,
  listNewestLogins,
  revokeAuthorization,
} from '../../storage/repositories/index.ts'
import { connectedClientsPage } from '../../users/account/connected-clients.ts'
import { deviceName } from '../../users/account/device-name.ts'
import { disconnectClient } from '../../users/account/disconnect-client.ts'
import { sameClientsAs } from '../../users/account/same-clients.ts'
import { unlockLoginName } from '../../users/account/unlock.ts'
import { isLookup, type User } from '../../users/users.ts'
import type { OperatorContext, OperatorPage } from '../../web/endpoints/operator-page.ts'
import { iso, pageLinks, pageNumberOf } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { PageModels } from '../../web/pages/page-models.ts'
import { end } from '../../web/sessions/browser-logins.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { fullNameOf } from './users/full-name.ts'
import type { TroubleModel } from './users/models.ts'
import { userActPath, userSections } from './users/sections.ts'
import { troubleOf } from './users/trouble.ts'

const path = '/admin/users'
const notices = ['removed', 'revoked', 'signed-out', 'ended', 'unlocked', 'done'] as const

type ShownUser = NonNullable<PageModels['operator-users']['user']>

/** Whom the page is about: a link names the subject, a search an id or a login name. */
interface Asked {
  readonly subject: string
  /** Found by name they may be disabled. */
  readonly user: User | undefined
  readonly isDisabled: boolean
}

const find = async ({ server }: OperatorContext, parameters: Parameters): Promise<Asked | undefined> => {
  const subject = parameters.optional('subject', 255)
  const query = parameters.optional('q', 255)?.trim()
  const asked = subject ?? query
  if (!isLookup(asked)) return undefined
  const byId = await server.users.find(asked)
  const user = byId ?? (subject === undefined ? await server.users.findByUsername?.(asked) : undefined)
  const isDisabled = user !== byId && user !== undefined && !(await server.users.find(user.subject))
  return { subject: user?.subject ?? asked, user, isDisabled }
}

const clientsOf = async (
  context: OperatorContext,
  subject: string,
  asked: number,
  authorizations: ShownUser['authorizations'],
): Promise<Pick<ShownUser, 'clients' | 'authorizations' | 'previousUrl' | 'nextUrl'>> => {
  const { server } = context
  const { clients, ...page } = await connectedClientsPage(server, subject, asked, 'en')
  const ids = clients.map(({ clientId }) => clientId)
  return {
    authorizations: authorizations.filter(({ client }) => !ids.includes(client)),
    clients: clients.map(
      ({ clientId, organization, name, scopes, choices, since, lastUsed, sessions }, index) => ({
        name,
        id: clientId,
        organization,
        scopes,
        ...countedThings(server.options.choices, choices, 'en'),
        sessions,
        // A client with several organizations has several entries.
        authorizations:
          ids.indexOf(clientId) === index ? authorizations.filter(({ client }) => client === clientId) : [],
        url: context.person.clientUrl(clientId),
        since: iso(since),
        lastUsed: iso(lastUsed),
        end: context.form(
          { subject, client_id: clientId, ...(organization !== undefined && { organization }) },
          'remove',
        ),
      }),
    ),
    ...pageLinks(server, path, page, { subject }),
  }
}

const overview = async (
  context: OperatorContext,
  { subject, user, isDisabled }: Asked,
  parameters: Parameters,
): Promise<ShownUser> => {
  const { server } = context
  const { database, now } = server
  const authorizations = await listNewestAuthorizations(database, { subject })
  const logins = await listNewestLogins(database, { subject })
  return {
    id: subject,
    username: user?.username,
    fullName: user && (await fullNameOf(context, user)),
    isDisabled,
    ...(logins[0] && { lastSignIn: iso(Math.max(...logins.map(({ authTime }) => authTime))) }),
    ...(await clientsOf(
      context,
      subject,
      pageNumberOf(parameters),
      authorizations.map(({ id, clientId, scopes, createdAt, lastUsedAt }) => ({
        id,
        client: clientId,
        scopes,
        since: iso(createdAt),
        lastUsed: lastUsedAt === null ? undefined : iso(lastUsedAt),
        end: context.form({ subject, authorization: id }, 'revoke'),
      })),
    )),
    logins: logins.map(({ sid, authTime, amr, expiresAt, endedAt, userAgent, address, lastSeenAt }) => ({
      device: deviceName(userAgent),
      ...(address !== undefined && { address }),
      ...(lastSeenAt !== undefined && { lastUsed: iso(lastSeenAt) }),
      since: iso(authTime),
      methods: amr,
      expires: iso(expiresAt),
      ended: endedAt === null ? undefined : iso(endedAt),
      end: endedAt === null && expiresAt > now() ? context.form({ subject, sid }, 'sign-out') : undefined,
    })),
    more: await userSections(server, subject),
    deleteUrl: ownPath(server, userActPath, { subject }),
    eventsUrl: server.eventLog && ownPath(server, '/admin/events', { subject }),
    links: context.person.linksAbout({ user: subject }),
  }
}

/** Whether anything is stored about someone who is no user. */
const hasSomething = ({ clients, authorizations, logins, more }: ShownUser): boolean =>
  [clients, authorizations, logins, ...more.map(({ rows }) => rows)].some((rows) => rows.length > 0) ||
  more.some(({ act: whole }) => whole !== undefined)

/** Why the user cannot sign in, under the name that was typed and under their own. */
const trouble = (
  context: OperatorContext,
  { subject, user }: Asked,
  typed: string | undefined,
): Promise<TroubleModel[]> => {
  const isId = typed === undefined || (user !== undefined && typed === subject)
  const names = [user?.username, isId ? undefined : typed].filter((name) => name !== undefined)
  return troubleOf(context, names, subject, typed === undefined ? { subject } : { q: typed })
}

/** The act of a form about a user. What has ended meanwhile is no error. */
const act =
  (
    kind: (typeof notices)[number],
    run: (context: OperatorContext, subject: string, form: Parameters) => Promise<void>,
  ) =>
  async (context: OperatorContext, form: Parameters): Promise<ActResult> => {
    const subject = form.required('subject')
    await run(context, subject, form)
    return { query: { subject }, notice: { kind } }
  }

const by = ({ person: { actor } }: OperatorContext) => (actor === undefined ? {} : { actor })

/** A user's clients, authorizations and logins. Each can be ended. */
export const usersPage: OperatorPage = {
  path,
  section: 'users',
  fields: ['subject', 'q', 'username', 'client_id', 'organization', 'authorization', 'sid'],
  async show(context, query) {
    const { server, person, notice } = context
    const asked = await find(context, query)
    const typed = query.optional('q', 255)?.trim()
    const user = asked && (await overview(context, asked, query))
    const isKnown = user && (asked.user !== undefined || hasSomething(user))
    context.send('operator-users', {
      ...(await person.header()),
      query: typed ?? asked?.subject ?? '',
      action: ownPath(server, path),
      findsNames: server.users.findByUsername !== undefined,
      unknown: asked && !isKnown,
      trouble: asked && (await trouble(context, asked, typed)),
      user: isKnown ? user : undefined,
      notice: asked && noticeOf(notice, notices),
    })
  },
  acts: {
    remove: act('removed', async (context, subject, form) => {
      const { server, info } = context
      const organization = form.optional('organization')
      for (const clientId of await sameClientsAs(server, subject, form.required('client_id'))) {
        const removed = { subject, clientId, ...(organization !== undefined && { organization }) }
        await disconnectClient(server, removed, { info, ...by(context) })
      }
    }),
    revoke: act('revoked', async (context, subject, form) => {
      const { server, info } = context
      const { database, now, events } = server
      const id = form.required('authorization')
      const found = await findAuthorization(database, { id })
      if (found?.subject !== subject) return
      const about = { clientId: found.clientId, subject, authorizationId: id, ...by(context) }
      await events.change(database, async (tx, tell) => {
        if (await revokeAuthorization(tx, { id, now: now() }))
          await tell('authorization.revoked', info, { ...about, reason: 'revoked_by_admin' })
      })
    }),
    'sign-out': act('signed-out', async ({ server, info, person: { actor } }, subject, form) => {
      const login = await findLogin(server.database, { sid: form.required('sid'), now: server.now() })
      if (login?.subject === subject) await end(server, login, { info, actor })
    }),
    async unlock(context, form) {
      const { server, info } = context
      const username = form.required('username')
      const [subject, q] = [form.optional('subject'), form.optional('q')]
      const asked = await find(context, form)
      const whose = asked?.user?.subject ?? subject
      await unlockLoginName(server, username, { subject: whose, info, ...by(context) })
      const query = { ...(subject !== undefined && { subject }), ...(q !== undefined && { q }) }
      return { query, notice: { kind: 'unlocked' } }
    },
  },
}
