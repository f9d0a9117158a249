import type { Parameters } from '../../protocol/parameters.ts'
import { listConsents } from '../../storage/repositories/consents.ts'
import type { OrganizationPage } from '../../web/endpoints/organization-page.ts'
import { iso, pageNumberOf } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { type KnownApp, listApps, readPolicy, setPolicy } from './administration.ts'
import type { OrganizationPolicy } from './declarations.ts'
import {
  type AdministratorContext,
  appPath,
  appShown,
  appsPath,
  deciderOf,
  fieldsAbout,
  leadTo,
  policyPath,
  urlOf,
} from './pages.ts'

const pageSize = 50
/** Seconds after which an app counts as not used: six months. */
const unusedAfter = 182 * 86_400
const kinds = ['all', 'ask', 'blocked', 'unused'] as const
type Kind = (typeof kinds)[number]

const isUnused = ({ users, lastUsedAt }: KnownApp, now: number): boolean =>
  users > 0 && lastUsedAt !== null && lastUsedAt < now - unusedAfter

const isShown = (app: KnownApp, kind: Kind, now: number): boolean => {
  if (kind === 'all') return true
  return kind === 'unused' ? isUnused(app, now) : (app.rule?.outcome ?? 'allowed') === kind
}

/** The clients that a user with this login name uses; undefined if no user has it. */
const appsOfMember = async (
  { server, person }: AdministratorContext,
  query: string,
): Promise<ReadonlySet<string> | undefined> => {
  const user = query === '' ? undefined : await server.users.findByUsername?.(query)
  if (user === undefined) return undefined
  const consents = await listConsents(server.database, { subject: user.subject })
  return new Set(
    consents
      .filter(({ organization }) => organization === person.organization.id)
      .map(({ clientId }) => clientId),
  )
}

/** The apps of an organization, by page, search and kind. */
const show = async (context: AdministratorContext, parameters: Parameters): Promise<void> => {
  const { server, person, language, notice } = context
  const now = server.now()
  const { id } = person.organization
  const all = await listApps(server, id)
  const query = parameters.optional('q', 255)?.trim() ?? ''
  const kind = kinds.find((each) => each === parameters.optional('show')) ?? 'all'
  const ofMember = await appsOfMember(context, query)
  const words = query.toLowerCase()
  const rows = all
    .map((app) => ({ app, shown: appShown(app, language) }))
    .filter(({ app, shown }) => {
      const isFound =
        `${shown.name}\n${shown.host}`.toLowerCase().includes(words) ||
        app.clients.some(({ clientId }) => ofMember?.has(clientId))
      return isFound && isShown(app, kind, now)
    })
    .sort((one, other) => one.shown.name.localeCompare(other.shown.name, language))
  const page = pageNumberOf(parameters)
  const first = (page - 1) * pageSize
  const named = { ...(query !== '' && { q: query }), ...(kind !== 'all' && { show: kind }) }
  const pageUrl = (number: number): string => urlOf(context, appsPath, { ...named, page: String(number) })
  const may = all.filter(({ rule }) => rule?.outcome !== 'blocked')
  context.send('organization-apps', {
    ...(await person.header()),
    policy: { ...(await readPolicy(server.database, id)), url: urlOf(context, policyPath) },
    total: may.filter(({ users }) => users > 0).length,
    unused: may.filter((app) => isUnused(app, now)).length,
    query,
    show: kind,
    action: ownPath(server, appsPath),
    hidden: fieldsAbout(context, kind === 'all' ? {} : { show: kind }),
    filters: kinds.map((each) => ({
      show: each,
      url: urlOf(context, appsPath, each === 'all' ? {} : { show: each }),
      isCurrent: each === kind,
    })),
    apps: rows.slice(first, first + pageSize).map(({ app, shown }) => ({
      ...shown,
      users: app.users,
      ...(app.lastUsedAt !== null && { lastUsed: iso(app.lastUsedAt) }),
      outcome: app.rule?.outcome ?? 'allowed',
      isLimited: app.rule?.most !== undefined,
      url: urlOf(context, appPath, { app: app.app }),
    })),
    ...(page > 1 && { previousUrl: pageUrl(page - 1) }),
    ...(rows.length > first + pageSize && { nextUrl: pageUrl(page + 1) }),
    notice: noticeOf(notice, ['policy', 'removed']),
  })
}

export const appsPage: OrganizationPage = { path: appsPath, section: 'apps', show }

const policyIn = (form: Parameters): OrganizationPolicy => ({
  // Another value is refused where it is stored.
  apps: (form.optional('apps') ?? '') as OrganizationPolicy['apps'],
  unverified: (form.optional('unverified') ?? '') as OrganizationPolicy['unverified'],
})

/** The rule for apps that no administrator has decided about. */
export const policyPage: OrganizationPage = {
  path: policyPath,
  section: 'apps',
  async show(context) {
    const { server, person } = context
    context.send('organization-policy', {
      ...(await person.header()),
      ...context.form(fieldsAbout(context), 'policy'),
      policy: await readPolicy(server.database, person.organization.id),
      cancelUrl: urlOf(context, appsPath),
    })
  },
  acts: {
    async policy(context, form) {
      await setPolicy(context.server, context.person.organization.id, policyIn(form), deciderOf(context))
      return leadTo(context, appsPath, 'policy')
    },
  },
}
