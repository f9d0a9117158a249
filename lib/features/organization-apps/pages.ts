import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { webHost } from '../../protocol/clients/redirect-uri.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { type OrganizationAdministrator, organizationUrl } from '../../web/endpoints/organization-page.ts'
import type { NamedParameters } from '../../web/endpoints/page-values.ts'
import type { ActResult, SignedContext } from '../../web/endpoints/signed-page.ts'
import { appName, type Decider, findApp, type KnownApp } from './administration.ts'

// What the pages of administrators have in common.

export const appsPath = '/organization/apps'
export const policyPath = '/organization/policy'
export const appPath = '/organization/app'
export const removePath = '/organization/app/remove'
export const appRequestsPath = '/organization/requests'
export const appRequestPath = '/organization/request'
export const activityPath = '/organization/activity'
export const csvPath = '/organization/activity.csv'

export type AdministratorContext = SignedContext<OrganizationAdministrator>

/** The administrator of a page, for events. */
export const deciderOf = ({ person, info }: AdministratorContext): Decider => ({ by: person.id, info })

/** The URL of another page about the organization. */
export const urlOf = (
  { server, person }: AdministratorContext,
  path: string,
  query: NamedParameters = {},
): string => organizationUrl(server, path, person.organization.id, query)

/** The fields of forms and notices about the organization. */
export const fieldsAbout = (
  { person }: AdministratorContext,
  fields: NamedParameters = {},
): NamedParameters => ({
  organization: person.organization.id,
  ...fields,
})

/** Leads to a page about the organization, with a notice. */
export const leadTo = (
  context: AdministratorContext,
  path: string,
  kind: string,
  fields: NamedParameters = {},
): ActResult => ({ path, query: fieldsAbout(context, fields), notice: { kind } })

/** Who runs an app: where it describes itself, or where its answers go. */
export const hostOf = ({ app, clients }: Pick<KnownApp, 'app' | 'clients'>): string => {
  const [uri] = clients[0]?.metadata.redirect_uris ?? []
  return app.startsWith('host:') ? app.slice('host:'.length) : uri === undefined ? '' : webHost(uri)
}

/** An app as lists and headings show it. */
export const appShown = (app: KnownApp, language: string) => ({
  name: appName(app, language),
  host: hostOf(app),
  unverified: app.isUnverified,
})

/** The most characters of the name of an app in a URL: a kind, and the id of a client. */
const maxApp = 300

/**
 * The app that a URL or form names.
 *
 * @throws OAuthError with status 404, the same for an unknown app and one of another organization
 */
export const namedApp = async (
  { server, person }: AdministratorContext,
  parameters: Parameters,
): Promise<KnownApp> => {
  const app = parameters.optional('app', maxApp) ?? ''
  const known = await findApp(server, person.organization.id, app)
  if (known) return known
  throw refusal('parameter_invalid', {
    values: { parameter: 'app', problem: 'is not an app of this organization' },
    status: 404,
  })
}

/** The login names of users, by their ids; those who are gone keep their id. */
export const namesOf = async (
  { users }: Pick<AuthorizationServer, 'users'>,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, string>> =>
  new Map(
    await Promise.all(
      [...new Set(subjects)].map(
        async (subject) => [subject, (await users.find(subject))?.username ?? subject] as const,
      ),
    ),
  )

/** Scopes in words. */
export const permissionsOf = ({ server, language }: AdministratorContext, scopes: readonly string[]) =>
  scopes.map((name) => ({ name, ...scopeWords(server, name, language) }))
