import { type Client, clientName } from '../../protocol/clients/client.ts'
import { findClientRecords } from '../../storage/repositories/index.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import { clientParameter, pageLinks, pageNumberOf } from '../../web/endpoints/page-values.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { DeveloperClientState } from './declarations.ts'
import type { DeveloperOption } from './option.ts'
import { clientPath, type DeveloperPageContext, developerPage, listPath } from './page.ts'
import { type ClientOwner, findClientOwners, listClientIdsOfOwner } from './table.ts'

/** Clients on one page of the list. */
const pageSize = 20

/** The state of a client, as its owner reads it. */
export const clientStateOf = (
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
  { maxClients: max }: DeveloperOption,
  asked: number,
): Promise<void> => {
  const { server, language, person, notice } = context
  const { database } = server
  const ids = await listClientIdsOfOwner(database, { subject: person.id })
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
    const url = ownPath(server, clientPath, clientParameter(clientId))
    return [{ name: clientName(client, language), clientId, state: clientStateOf(owner, client), url }]
  })
  context.send('developer', {
    ...(await accountModel(context, person.user, 'developer')),
    clients: cards,
    ...(ids.length < max ? { newUrl: ownPath(server, '/developer/new') } : { max }),
    ...(notice?.kind === 'deleted' && { notice: 'deleted' as const }),
    ...pageLinks(server, listPath, { number, isLast: number === pages }),
  })
}

/** The clients of a developer. */
export const listPage = (option: DeveloperOption): Endpoint<PageContext> =>
  developerPage(option, {
    path: listPath,
    show: (context, query) => showList(context, option, pageNumberOf(query)),
  })
