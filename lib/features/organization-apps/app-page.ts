import { setMembers } from '../../protocol/json.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { parseEntry } from '../../protocol/requests/consent.ts'
import type { OrganizationPage } from '../../web/endpoints/organization-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { decideApp, type KnownApp, maxWords, removeApp, removeMember } from './administration.ts'
import type { AppDecision } from './declarations.ts'
import {
  type AdministratorContext,
  appPath,
  appShown,
  appsPath,
  deciderOf,
  fieldsAbout,
  leadTo,
  namedApp,
  namesOf,
  permissionsOf,
  removePath,
  urlOf,
} from './pages.ts'
import { type AppLimit, limitableScopes, withinLimit } from './rules.ts'
import { countEntries, listMembers, type MemberPlace, membersPerPage } from './usage.ts'

/** Clients of one app that its page counts and lists members of. */
const mostClients = 100

const idsOf = ({ clients }: KnownApp): readonly string[] =>
  clients.slice(0, mostClients).map(({ clientId }) => clientId)

/** The place in the list of members that a URL names; the beginning if it names none. */
const placeIn = (query: Parameters): MemberPlace | undefined => {
  const [, time, subject] = /^(\d{1,12}):(.{1,255})$/.exec(query.optional('after', 300) ?? '') ?? []
  return time === undefined || subject === undefined ? undefined : { time: Number(time), subject }
}

/** The scopes that an app asks for, each with the number of members who allowed it. */
const permissionsWithCounts = async (context: AdministratorContext, app: KnownApp) => {
  const { server, person } = context
  const counts = await countEntries(server.database, person.organization.id, idsOf(app))
  const users = new Map<string, number>()
  for (const [entry, count] of counts) {
    const { scope } = parseEntry(entry)
    if (scope !== undefined) users.set(scope, Math.max(users.get(scope) ?? 0, count))
  }
  const scopes = limitableScopes(app.clients)
  const left = withinLimit(server, scopes, app.rule?.most)
  return permissionsOf(context, scopes).map((permission) => ({
    ...permission,
    users: users.get(permission.name) ?? 0,
    checked: left.includes(permission.name),
  }))
}

const membersOf = async (context: AdministratorContext, app: KnownApp, query: Parameters) => {
  const { server, person } = context
  const found = await listMembers(server.database, person.organization.id, idsOf(app), placeIn(query))
  const members = found.slice(0, membersPerPage)
  const names = await namesOf(
    server,
    members.map(({ subject }) => subject),
  )
  const last = members.at(-1)
  const after = last && found.length > membersPerPage ? `${last.lastUsedAt}:${last.subject}` : undefined
  return {
    members: members.map(({ subject, since, lastUsedAt }) => ({
      name: names.get(subject) ?? subject,
      since: iso(since),
      lastUsed: iso(lastUsedAt),
      remove: context.form(fieldsAbout(context, { app: app.app, member: subject }), 'remove'),
    })),
    ...(query.has('after') && { previousUrl: urlOf(context, appPath, { app: app.app }) }),
    ...(after !== undefined && { nextUrl: urlOf(context, appPath, { app: app.app, after }) }),
  }
}

const show = async (context: AdministratorContext, query: Parameters): Promise<void> => {
  const { server, person, language, notice } = context
  const app = await namedApp(context, query)
  const { rule, isOwn } = app
  const most = rule?.most
  const scopes = limitableScopes(app.clients)
  context.send('organization-app', {
    ...(await person.header()),
    ...appShown(app, language),
    clients: app.app.startsWith('host:')
      ? app.clients.map(({ metadata, clientId }) => metadata.client_name ?? clientId)
      : [],
    users: app.users,
    outcome: rule?.outcome ?? 'allowed',
    isByPolicy: !isOwn,
    words: (isOwn && rule?.words) || '',
    most: most === undefined ? 'asked' : most === 'read' ? 'read' : 'these',
    mayRead: withinLimit(server, scopes, 'read').length < scopes.length,
    permissions: await permissionsWithCounts(context, app),
    decide: context.form(fieldsAbout(context, { app: app.app }), 'decide'),
    ...(await membersOf(context, app, query)),
    ...(app.users > 0 && { removeUrl: urlOf(context, removePath, { app: app.app }) }),
    listUrl: urlOf(context, appsPath),
    notice: noticeOf(notice, ['saved', 'removed']),
  })
}

const limitIn = (form: Parameters, app: KnownApp): AppLimit | undefined => {
  const most = form.optional('most')
  if (most === 'these') return limitableScopes(app.clients).filter((name) => form.has(`scope:${name}`))
  return most === 'read' ? 'read' : undefined
}

/** One app: what was allowed to it, by whom, and what is decided. */
export const appPage: OrganizationPage = {
  path: appPath,
  section: 'apps',
  fields: ['app', 'member'],
  show,
  acts: {
    async decide(context, form) {
      const app = await namedApp(context, form)
      const decision = {
        // Another outcome is refused where it is stored.
        outcome: (form.optional('outcome') ?? '') as AppDecision['outcome'],
        words: form.verbatim('words', maxWords),
        most: limitIn(form, app),
      }
      const { id } = context.person.organization
      await decideApp(context.server, id, app.app, setMembers(decision), deciderOf(context))
      return leadTo(context, appPath, 'saved', { app: app.app })
    },
    async remove(context, form) {
      const app = await namedApp(context, form)
      const { server, person } = context
      await removeMember(server, person.organization.id, app, form.required('member'), deciderOf(context))
      return leadTo(context, appPath, 'removed', { app: app.app })
    },
  },
}

/** Asks whether to end every member's access by an app. */
export const removePage: OrganizationPage = {
  path: removePath,
  section: 'apps',
  fields: ['app'],
  async show(context, query) {
    const { person, language } = context
    const app = await namedApp(context, query)
    context.send('organization-remove', {
      ...(await person.header()),
      ...context.form(fieldsAbout(context, { app: app.app }), 'remove'),
      name: appShown(app, language).name,
      users: app.users,
      isBlocked: app.rule?.outcome === 'blocked',
      cancelUrl: urlOf(context, appPath, { app: app.app }),
    })
  },
  acts: {
    async remove(context, form) {
      const app = await namedApp(context, form)
      const also = { ...deciderOf(context), block: form.has('block') }
      await removeApp(context.server, context.person.organization.id, app, also)
      return leadTo(context, appsPath, 'removed')
    },
  },
}
