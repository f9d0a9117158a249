import { anotherAccountLocation } from '../../oauth/authorization/login-location.ts'
import {
  type ClientAdministration,
  clientAdministration,
  type RegisteredClient,
} from '../../oauth/clients/administration.ts'
import { sizes } from '../../protocol/lengths.ts'
import type { Parameters as RequestParameters } from '../../protocol/parameters.ts'
import { HostError } from '../../protocol/problem.ts'
import { refusal } from '../../protocol/refusal.ts'
import { countUsageOfClient, maxCounted } from '../../storage/repositories/index.ts'
import { callHost } from '../../users/host-function.ts'
import { showAccountLogin, submitAccountLogin } from '../../web/endpoints/account/account-login.ts'
import type {
  Operator,
  OperatorContext,
  OperatorLink,
  OperatorPage,
} from '../../web/endpoints/operator-page.ts'
import { clientParameter, type NamedParameters } from '../../web/endpoints/page-values.ts'
import { signedPage } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { sendErrorPage } from '../../web/http/errors.ts'
import { queryParameters } from '../../web/http/form.ts'
import { ownPath } from '../../web/http/urls.ts'
import { activeLogin } from '../../web/sessions/login.ts'
import type { AdminOption } from './option.ts'

/** UTF-16 code units of an actor in events. */
const maxActor = 255

/** All pages, and the first one of each section. */
interface Area {
  readonly pages: readonly OperatorPage[]
  readonly sections: readonly OperatorPage[]
}

/** Links to the pages that show one client or user. */
const linksAbout = (
  server: PageContext['server'],
  pages: readonly OperatorPage[],
  about: Parameters<Operator['linksAbout']>[0],
): readonly OperatorLink[] => {
  const [kind, value] =
    'client' in about ? (['client', about.client] as const) : (['user', about.user] as const)
  return pages.flatMap((page) => {
    const parameter = page.about?.[kind]
    if (parameter === undefined) return []
    return [{ section: page.section, url: ownPath(server, page.path, { [parameter]: value }) }]
  })
}

/** In the URL of a page: who is not signed in wants the form. */
const signInParameter = 'sign_in'

/** Parameters of the URL of a page, without the one that asks for the form. */
const queryOf = ({ req }: PageContext): NamedParameters => {
  const { [signInParameter]: _, ...query } = Object.fromEntries(queryParameters(req).pairs())
  return query
}

/** Answers a request that the host does not allow: who is signed in may have another account that is allowed. */
const refuse = async (context: PageContext): Promise<void> => {
  const { server, req, endpoint } = context
  const active = await activeLogin(context)
  if (active === undefined && queryParameters(req).has(signInParameter))
    return showAccountLogin(context, endpoint.path, undefined, queryOf(context))
  const explanation = { expected: 'true, or the id of an administrator', received: 'false' }
  const error = refusal('not_administrator', {
    status: 403,
    explanation,
  })
  const ways = active
    ? {
        account: {
          username: active.user.username,
          switchUrl: anotherAccountLocation(server, active.login.sid),
        },
      }
    : { signInUrl: ownPath(server, endpoint.path, { ...queryOf(context), [signInParameter]: '1' }) }
  sendErrorPage(context, error, ways)
}

/**
 * Asks the host whether this request may use the admin pages.
 *
 * @returns true, or the id of an administrator; undefined for everyone else
 * @throws TypeError if the host returns neither true, false nor a string
 */
export const administratorOf = async (
  { req }: PageContext,
  { allow }: AdminOption,
): Promise<true | string | undefined> => {
  const answer: unknown = await callHost('admin({ allow })', () => allow({ req }))
  if (answer === true || (typeof answer === 'string' && answer !== '')) return answer
  // Such as a user object: a mistake, which must not let anyone in.
  if (answer) throw new HostError('admin({ allow }) must return true, false or a string')
  return undefined
}

/** The page about a client. */
export const clientUrl = (server: PageContext['server'], clientId: string): string =>
  ownPath(server, '/admin/client', clientParameter(clientId))

/**
 * Asks the host whether this request may use the admin pages, and answers it if not.
 *
 * @throws as {@link administratorOf}
 */
const admitted = async (
  context: PageContext,
  option: AdminOption,
  { sections, pages, section }: Area & { readonly section: string },
): Promise<Operator | undefined> => {
  const { server } = context
  const answer = await administratorOf(context, option)
  if (answer === undefined) {
    await refuse(context)
    return undefined
  }
  const actor = answer === true ? undefined : answer.slice(0, maxActor)
  return {
    id: actor ?? '',
    actor,
    header: async () => ({
      sections: await Promise.all(
        sections.map(async (page) => ({
          kind: page.section,
          url: ownPath(server, page.path),
          isCurrent: page.section === section,
          count: await page.waiting?.(context),
        })),
      ),
      operator: {
        actor,
        issuer: server.issuer,
        isDevelopment: !server.options.production,
        signOutUrl: (await activeLogin(context)) ? ownPath(server, '/logout') : undefined,
      },
    }),
    clientUrl: (clientId) => clientUrl(server, clientId),
    userUrl: (subject) => ownPath(server, '/admin/users', { subject }),
    linksAbout: (about) => linksAbout(server, pages, about),
  }
}

/** Serves pages for operators. Each of their handlers runs only after the host has allowed the request. */
export const adminArea = (
  option: AdminOption,
  pages: readonly OperatorPage[],
): readonly Endpoint<PageContext>[] => {
  const sections = pages.filter(({ section }, index) => section !== pages[index - 1]?.section)
  return pages.map(({ section, about: _, ...page }) =>
    signedPage<Operator>({
      ...page,
      maxForm: sizes.form,
      language: 'en',
      admit: (context) => admitted(context, option, { pages, sections, section }),
      signIn: (context) => submitAccountLogin(context, page.path, queryOf(context)),
    }),
  )
}

/** @throws OAuthError `invalid_request` with status 404 if a URL or form names no client */
export const findNamedClient = async (
  context: OperatorContext,
  parameters: RequestParameters,
): Promise<RegisteredClient> => {
  const client = await clientsFor(context).get(parameters.optional('client_id') ?? '')
  if (client) return client
  throw refusal('parameter_invalid', {
    values: { parameter: 'no', problem: 'client has this client_id' },
    status: 404,
  })
}

/** A client as a page names it before it acts: its name, and how many users that concerns. */
export const clientInNumbers = async (
  { server, person }: OperatorContext,
  { client_id: id, client_name: name = id }: RegisteredClient,
) => ({
  ...(await countUsageOfClient(server.database, { clientId: id })),
  maxCounted,
  ...(await person.header()),
  name,
  id,
  cancelUrl: person.clientUrl(id),
})

/** The clients, administered in the name of this administrator. */
export const clientsFor = ({ server, person: { actor }, info }: OperatorContext): ClientAdministration =>
  clientAdministration({ ...server, logos: server, by: { actor, info } })
