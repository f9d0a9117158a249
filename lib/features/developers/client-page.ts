import { clientAdministration } from '../../clients/administration.ts'
import { submitAccountLogin } from '../../endpoints/account/account-login.ts'
import { queryParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { allowedScopes, clientName, usesSecret } from '../../protocol/clients/client.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { leaveOutcome, takeOutcome } from '../../sessions/notice.ts'
import { listKey, stateOf } from './list-page.ts'
import type { DeveloperNotice } from './models.ts'
import {
  type DeveloperPage,
  type DeveloperPageContext,
  developerFormFields,
  developerUrl,
  findOwnClient,
  type OwnClient,
  type SignedInDeveloper,
  showDeveloperPage,
  submitDeveloperForm,
} from './page.ts'
import type { Developer } from './register.ts'

const notices: readonly DeveloperNotice[] = ['created', 'saved', 'sent', 'rotated']

/** What an act has led to is for one user, on the page of one client. */
const outcomeKey = ({ subject }: Developer, clientId: string): string =>
  JSON.stringify(['developer', subject, clientId])

/** Redirects to the page of a client, which says once what has happened. */
export const showResult = (
  context: DeveloperPageContext,
  developer: Developer,
  clientId: string,
  outcome: { readonly act: DeveloperNotice; readonly secret?: string },
): void => {
  leaveOutcome(context, outcomeKey(developer, clientId), outcome)
  redirectToPage(context.res, developerUrl(context, { path: '/developer/client', clientId }))
}

const showClient = (
  context: DeveloperPageContext,
  developer: Developer,
  { owner, client }: OwnClient,
): void => {
  const { server, language } = context
  const { clientId, metadata } = client
  const url = (path: DeveloperPage['path']): string => developerUrl(context, { path, clientId })
  const { act, secret } = takeOutcome(context, outcomeKey(developer, clientId)) ?? {}
  const said = notices.find((each) => each === act)
  context.send('developer-client', {
    client: { name: clientName(client, language), clientId, state: stateOf(owner, client) },
    isPublic: metadata.token_endpoint_auth_method === 'none',
    redirectUris: metadata.redirect_uris,
    scopes: allowedScopes(client),
    ...(owner.reason !== null && { reason: owner.reason }),
    ...(said && { notice: said }),
    ...(secret !== undefined && { secret }),
    editUrl: url('/developer/edit'),
    ...(usesSecret(metadata) && { rotateUrl: url('/developer/rotate') }),
    deleteUrl: url('/developer/delete'),
    listUrl: ownPath(server, '/developer'),
  })
}

/** The client that the URL of a page names; '' is the id of none. */
export const namedClient = ({ req }: DeveloperPageContext): string =>
  queryParameters(req).optional('client_id') ?? ''

/** One client of a developer. */
export const clientPage: Endpoint<DeveloperPageContext> = {
  path: '/developer/client',
  methods: {
    GET: (context) => {
      const clientId = namedClient(context)
      return showDeveloperPage(context, { path: '/developer/client', clientId }, async (developer) =>
        showClient(context, developer, await findOwnClient(context, developer, clientId)),
      )
    },
    POST: (context) => submitAccountLogin(context, '/developer/client', { client_id: namedClient(context) }),
  },
}

/** The administration of clients, whose events say which user acted. */
const clientsFor = ({ server, info }: DeveloperPageContext, { subject }: SignedInDeveloper) =>
  clientAdministration({
    ...server,
    ready: async () => {},
    events: {
      announce: (type, _, details) => server.events.announce(type, info, { ...details, subject }),
    },
  })

type Act = (
  context: DeveloperPageContext,
  developer: SignedInDeveloper,
  clientId: string,
  form: Parameters,
) => Promise<void>

const rotate: Act = async (context, developer, clientId, form) => {
  const keepPreviousFor = form.optional('now') === 'on' ? 0 : undefined
  const clients = clientsFor(context, developer)
  const { client_secret: secret } = await clients.rotateSecret(clientId, { keepPreviousFor })
  showResult(context, developer, clientId, { act: 'rotated', secret })
}

const remove: Act = async (context, developer, clientId) => {
  await clientsFor(context, developer).delete(clientId)
  leaveOutcome(context, listKey(developer), { act: 'deleted' })
  redirectToPage(context.res, ownPath(context.server, '/developer'))
}

/** A page that asks whether to do something with a client, and does it. */
const confirmedPage = (kind: 'rotate' | 'delete', act: Act): Endpoint<DeveloperPageContext> => {
  const path = `/developer/${kind}` as const
  const pageFor = (clientId: string): DeveloperPage => ({ path, clientId, needsRecentLogin: true })
  return {
    path,
    methods: {
      GET: (context) => {
        const clientId = namedClient(context)
        const page = pageFor(clientId)
        return showDeveloperPage(context, page, async (developer) => {
          const { client } = await findOwnClient(context, developer, clientId)
          context.send('developer-confirm', {
            kind,
            action: developerUrl(context, page),
            hidden: developerFormFields(context, page, developer),
            client: { name: clientName(client, context.language) },
            cancelUrl: developerUrl(context, { path: '/developer/client', clientId }),
          })
        })
      },
      POST: (context) => {
        const clientId = namedClient(context)
        return submitDeveloperForm(context, pageFor(clientId), async (developer, form) => {
          await findOwnClient(context, developer, clientId)
          await act(context, developer, clientId, form)
        })
      },
    },
  }
}

export const rotatePage = confirmedPage('rotate', rotate)
export const deletePage = confirmedPage('delete', remove)
