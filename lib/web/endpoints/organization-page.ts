import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { extensionPoint } from '../../oauth/extension-point.ts'
import type { Organization } from '../../protocol/requests/organization.ts'
import { findOrganizations, type User } from '../../users/users.ts'
import type { AccountPage } from '../http/account-page.ts'
import type { PageContext } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { formParameters, queryParameters } from '../http/form.ts'
import { redirectToPage } from '../http/redirect.ts'
import { ownPath } from '../http/urls.ts'
import type { OrganizationPageModel } from '../pages/account-page-model.ts'
import { accountModel } from './account/account-pages.ts'
import type { NamedParameters } from './page-values.ts'
import { accountPage, accountPageFor, type SignedInUser, type SignedPage } from './signed-page.ts'

// Pages for the administrators of an organization. Features describe them; who an administrator is, the host says at each request.

/** A user who is an administrator of an organization now. */
export interface OrganizationAdministrator extends SignedInUser {
  readonly organization: Organization
  /** Reads the top of every page, with the numbers of what waits. */
  header(): Promise<OrganizationPageModel>
}

/** A page for the administrators of an organization, whose id is the parameter `organization` of its URL and forms. */
export interface OrganizationPage
  extends Pick<SignedPage<OrganizationAdministrator>, 'path' | 'fields' | 'maxForm' | 'show' | 'acts'> {
  /** Its section; the first page of a section is the one that the others link to, with the text `organization.<section>`. */
  readonly section: string
  /** The number of things that wait in its section, up to 100. The link to it shows the number. */
  waiting?(context: PageContext, organization: string): Promise<number>
}

export const organizationPages = extensionPoint<OrganizationPage>('organization.pages')

/** The additions of a feature for the administrators of an organization. */
export interface FeatureOrganization {
  readonly pages?: readonly OrganizationPage[]
}

/** The parameter that names the organization. */
const named = 'organization'

/** Seconds since the sign-in of an administrator who acts. */
const recent = 600

/** The URL of a page about an organization. */
export const organizationUrl = (
  server: AuthorizationServer,
  path: string,
  organization: string,
  query: NamedParameters = {},
): string => ownPath(server, path, { [named]: organization, ...query })

/** The organizations that the user looks after, as the host says now. */
const administered = async ({ server, req }: PageContext, user: User): Promise<readonly Organization[]> => {
  const all = (await findOrganizations(server.options.organizations, user, req)) ?? []
  return all.filter(({ role }) => role === 'admin')
}

const headerOf = async (
  context: PageContext,
  { section }: OrganizationPage,
  { id, name, detail }: Organization,
  { user }: SignedInUser,
): Promise<OrganizationPageModel> => {
  const { server } = context
  const pages = server.added(organizationPages)
  const first = pages.filter(
    (page, place) => pages.findIndex((each) => each.section === page.section) === place,
  )
  const tabs: OrganizationPageModel['tabs'][number][] = []
  for (const page of first)
    tabs.push({
      section: page.section,
      url: organizationUrl(server, page.path, id),
      isCurrent: page.section === section,
      count: await page.waiting?.(context, id),
    })
  const accountUrl = ownPath(server, '/account')
  return {
    organization: { name, ...(detail !== undefined && { detail }) },
    username: user.username,
    tabs,
    accountUrl,
  }
}

/** Everyone else, and every id that is unknown, gets the same page. */
const showForbidden = async (context: PageContext, { user }: SignedInUser): Promise<void> => {
  const model = {
    ...(await accountModel(context, user, 'organizations')),
    organizations: [],
    isForbidden: true,
  }
  context.send('organizations', model, { status: 403 })
}

/** The endpoint of a page for administrators. They are asked for at GET, and again at POST. */
export const organizationEndpointOf = (page: OrganizationPage): Endpoint<PageContext> =>
  accountPageFor<OrganizationAdministrator>(
    { ...page, fields: [named, ...(page.fields ?? [])], ...(page.acts && { recent }) },
    async (context, user) => {
      const parameters =
        context.req.method === 'POST' ? formParameters(context.req) : queryParameters(context.req)
      const id = parameters.optional(named)
      const organization = (await administered(context, user.user)).find((each) => each.id === id)
      if (organization === undefined) {
        await showForbidden(context, user)
        return undefined
      }
      return { ...user, organization, header: () => headerOf(context, page, organization, user) }
    },
  )

/** The user's organizations that they may look after; a single one is opened at once. */
export const administeredPage: AccountPage = {
  page: 'organizations',
  isOffered: async (context, user) => (await administered(context, user)).length > 0,
  endpoint: accountPage({
    path: '/account/organizations',
    async show(context) {
      const { server, person } = context
      const [first] = server.added(organizationPages)
      const urlOf = ({ id }: Organization): string => organizationUrl(server, first?.path ?? '/account', id)
      const organizations = await administered(context, person.user)
      const [only, another] = organizations
      if (only === undefined) return showForbidden(context, person)
      if (another === undefined) return redirectToPage(context, urlOf(only))
      context.send('organizations', {
        ...(await accountModel(context, person.user, 'organizations')),
        organizations: organizations.map((each) => ({
          name: each.name,
          detail: each.detail,
          url: urlOf(each),
        })),
      })
    },
  }),
}
