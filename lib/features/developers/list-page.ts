import { submitAccountLogin } from '../../endpoints/account/account-login.ts'
import { otherAccountPages } from '../../endpoints/account/account-pages.ts'
import { pageNumberOf } from '../../endpoints/page-values.ts'
import { queryParameters } from '../../http/form.ts'
import type { Endpoint } from '../../http/route.ts'
import { ownPath } from '../../http/urls.ts'
import { type Client, clientName } from '../../protocol/clients/client.ts'
import { findClientRecords } from '../../repositories/index.ts'
import { takeOutcome } from '../../sessions/notice.ts'
import type { DeveloperClientState } from './models.ts'
import { type DeveloperPageContext, developerUrl, type SignedInDeveloper, showDeveloperPage } from './page.ts'
import type { Developer } from './register.ts'
import { type ClientOwner, findClientOwners, listClientIdsOfOwner } from './table.ts'

/** Clients on one page of the list. */
const pageSize = 20

/** What an act has led to is for one user, on the list. */
export const listKey = ({ subject }: Developer): string => JSON.stringify(['developer', subject])

/** What owners read about the state of their client. */
export const stateOf = (
  { status, approvedAt }: ClientOwner,
  { disabledAt }: Pick<Client, 'disabledAt'>,
): DeveloperClientState => {
  if (approvedAt === null) return status === 'refused' ? 'refused' : 'waiting'
  if (disabledAt !== null) return 'disabled'
  if (status === 'waiting') return 'changed'
  return status === 'refused' ? 'unchanged' : 'active'
}

const showList = async (
  context: DeveloperPageContext,
  developer: SignedInDeveloper,
  asked: number,
): Promise<void> => {
  const { server, language, option } = context
  const { active, subject } = developer
  const { database } = server
  const ids = await listClientIdsOfOwner(database, { subject })
  const pages = Math.max(1, Math.ceil(ids.length / pageSize))
  const number = Math.min(asked, pages)
  const clientIds = ids.slice((number - 1) * pageSize, number * pageSize)
  const clients = new Map(
    (await findClientRecords(database, { clientIds, now: server.now() })).map((each) => [
      each.clientId,
      each,
    ]),
  )
  const owners = new Map(
    (await findClientOwners(database, { clientIds })).map((each) => [each.clientId, each]),
  )
  const cards = clientIds.flatMap((clientId) => {
    const [client, owner] = [clients.get(clientId), owners.get(clientId)]
    // One of them may just have been removed.
    if (client === undefined || owner === undefined) return []
    const url = developerUrl(context, { path: '/developer/client', clientId })
    return [{ name: clientName(client, language), clientId, state: stateOf(owner, client), url }]
  })
  const max = option.maxClients
  const pageUrl = (page: number): string => ownPath(server, '/developer', { page: String(page) })
  context.send('developer', {
    username: active.user.username,
    clients: cards,
    ...(ids.length < max ? { newUrl: ownPath(server, '/developer/new') } : { max }),
    ...(takeOutcome(context, listKey(developer))?.act === 'deleted' && { notice: 'deleted' as const }),
    signOutUrl: ownPath(server, '/logout'),
    otherPages: otherAccountPages(server, 'developer'),
    ...(number > 1 && { previousUrl: pageUrl(number - 1) }),
    ...(number < pages && { nextUrl: pageUrl(number + 1) }),
  })
}

/** The clients of a developer. */
export const listPage: Endpoint<DeveloperPageContext> = {
  path: '/developer',
  methods: {
    GET: (context) =>
      showDeveloperPage(context, { path: '/developer' }, (developer) =>
        showList(context, developer, pageNumberOf(queryParameters(context.req))),
      ),
    POST: (context) => submitAccountLogin(context, '/developer'),
  },
}
