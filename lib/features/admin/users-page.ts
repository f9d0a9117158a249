import { connectedClientsPage } from '../../account/connected-clients.ts'
import { disconnectClient } from '../../account/disconnect-client.ts'
import { revokeAllOf } from '../../account/user-lifecycle.ts'
import {
  leaveOperatorOutcome,
  noticeOf,
  type OperatorContext,
  type OperatorPage,
  type OperatorSubmission,
  operatorForm,
  submittedForm,
  takeOperatorOutcome,
} from '../../endpoints/operator-page.ts'
import { iso, pageNumberOf } from '../../endpoints/page-values.ts'
import { queryParameters } from '../../http/form.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import type { PageModels } from '../../pages/page-models.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import {
  findAuthorization,
  findLogin,
  listNewestAuthorizations,
  listNewestLogins,
  revokeAuthorization,
} from '../../repositories/index.ts'
import { end } from '../../sessions/browser-logins.ts'
import { isLookup, type User } from '../../users/users.ts'

const path = '/admin/users'
const notices = ['removed', 'revoked', 'signed-out', 'ended'] as const

type ShownUser = NonNullable<PageModels['operator-users']['user']>

/** Whom the page is about: a link names the subject, a search an id or a login name. */
interface Asked {
  readonly subject: string
  readonly user: User | undefined
}

const find = async ({ server }: OperatorContext, parameters: Parameters): Promise<Asked | undefined> => {
  const subject = parameters.optional('subject', 255)
  const query = parameters.optional('q', 255)?.trim()
  const asked = subject ?? query
  if (!isLookup(asked)) return undefined
  const byId = await server.users.find(asked)
  const user = byId ?? (subject === undefined ? await server.users.findByUsername?.(asked) : undefined)
  return { subject: user?.subject ?? asked, user }
}

const clientsOf = async (
  context: OperatorContext,
  subject: string,
  asked: number,
): Promise<Pick<ShownUser, 'clients' | 'previousUrl' | 'nextUrl'>> => {
  const { server } = context
  const { clients, number, isLast } = await connectedClientsPage(server, subject, asked, 'en')
  const pageUrl = (page: number): string => ownPath(server, path, { subject, page: String(page) })
  return {
    clients: clients.map(({ clientId, organization, name, scopes, since, lastUsed, sessions }) => ({
      name,
      id: clientId,
      organization,
      scopes,
      sessions,
      url: ownPath(server, '/admin/client', { client_id: clientId }),
      since: iso(since),
      lastUsed: iso(lastUsed),
      end: operatorForm(context, path, 'remove', {
        subject,
        client_id: clientId,
        ...(organization !== undefined && { organization }),
      }),
    })),
    previousUrl: number > 1 ? pageUrl(number - 1) : undefined,
    nextUrl: isLast ? undefined : pageUrl(number + 1),
  }
}

const overview = async (
  context: OperatorContext,
  { subject, user }: Asked,
  parameters: Parameters,
): Promise<ShownUser> => {
  const { server } = context
  const { database, now } = server
  const authorizations = await listNewestAuthorizations(database, { subject })
  const logins = await listNewestLogins(database, { subject })
  return {
    id: subject,
    username: user?.username,
    ...(await clientsOf(context, subject, pageNumberOf(parameters))),
    authorizations: authorizations.map(({ id, clientId, scopes, createdAt, lastUsedAt }) => ({
      id,
      client: clientId,
      scopes,
      since: iso(createdAt),
      lastUsed: lastUsedAt === null ? undefined : iso(lastUsedAt),
      end: operatorForm(context, path, 'revoke', { subject, authorization: id }),
    })),
    logins: logins.map(({ sid, authTime, amr, expiresAt, endedAt }) => ({
      since: iso(authTime),
      methods: amr,
      expires: iso(expiresAt),
      ended: endedAt === null ? undefined : iso(endedAt),
      end:
        endedAt === null && expiresAt > now()
          ? operatorForm(context, path, 'sign-out', { subject, sid })
          : undefined,
    })),
    endAll: operatorForm(context, path, 'end', { subject }),
    eventsUrl: server.eventLog && ownPath(server, '/admin/events', { user: subject }),
  }
}

const show = async (context: OperatorContext): Promise<void> => {
  const { server, req } = context
  const parameters = queryParameters(req)
  const asked = await find(context, parameters)
  context.send('operator-users', {
    sections: context.sections,
    query: parameters.optional('q', 255) ?? asked?.subject ?? '',
    action: ownPath(server, path),
    findsNames: server.users.findByUsername !== undefined,
    user: asked && (await overview(context, asked, parameters)),
    notice: asked && noticeOf(takeOperatorOutcome(context, `user ${asked.subject}`), notices),
  })
}

type About = OperatorSubmission<'subject' | 'client_id' | 'organization' | 'authorization' | 'sid'>['about']

/** One act on a user: what it ends, and the notice that it has. What has ended meanwhile is no error. */
interface UserAct {
  readonly notice: (typeof notices)[number]
  run(context: OperatorContext, subject: string, about: About): Promise<void>
}

const by = ({ actor }: OperatorContext) => (actor === undefined ? {} : { actor })

const acts = {
  remove: {
    notice: 'removed',
    run: async (context, subject, { client_id: clientId = '', organization }) => {
      const { server, info } = context
      const removed = { subject, clientId, ...(organization !== undefined && { organization }) }
      if (await disconnectClient(server, removed))
        server.events.announce('consent.removed', info, { ...removed, ...by(context) })
    },
  },
  revoke: {
    notice: 'revoked',
    run: async (context, subject, { authorization: id = '' }) => {
      const { server, info } = context
      const { database, now, events } = server
      const found = await findAuthorization(database, { id })
      if (found?.subject !== subject || !(await revokeAuthorization(database, { id, now: now() }))) return
      const about = { clientId: found.clientId, subject, authorizationId: id }
      events.announce('authorization.revoked', info, { ...about, reason: 'revoked_by_admin', ...by(context) })
    },
  },
  'sign-out': {
    notice: 'signed-out',
    run: async ({ server, info, actor }, subject, { sid = '' }) => {
      const login = await findLogin(server.database, { sid, now: server.now() })
      if (login?.subject === subject) await end(server, login, { info, actor })
    },
  },
  end: {
    notice: 'ended',
    run: async ({ server, info, actor }, subject) =>
      revokeAllOf(server, subject, { info, actor, reason: 'by an administrator' }),
  },
} as const satisfies Readonly<Record<string, UserAct>>

type ActName = keyof typeof acts

const submit = async (context: OperatorContext): Promise<void> => {
  const names = ['subject', 'client_id', 'organization', 'authorization', 'sid'] as const
  const { act, about } = submittedForm(context, names)
  const { subject = '' } = about
  // The CSRF token allows no other act.
  const { notice, run }: UserAct = acts[act as ActName]
  await run(context, subject, about)
  leaveOperatorOutcome(context, `user ${subject}`, { act: notice })
  redirectToPage(context.res, ownPath(context.server, path, { subject }))
}

/** A user's clients, authorizations and logins. Each can be ended. */
export const usersPage: OperatorPage = {
  path,
  section: 'users',
  GET: show,
  POST: submit,
}
