import type { RegisteredClient } from '../../oauth/clients/administration.ts'
import type { WaitingClient } from '../../oauth/clients/client-data.ts'
import { type ListFilter, listedClients } from '../../oauth/clients/listing.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import {
  clientsPerPage,
  countUsersOfClients,
  type ListedUsers,
  listLastTokens,
  maxLookedAt,
  searchedWords,
} from '../../storage/repositories/index.ts'
import type { OperatorContext, OperatorPage } from '../../web/endpoints/operator-page.ts'
import { iso, type NamedParameters, pageLinks, pageNumberOf } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { ClientMarks } from './models.ts'

/** The list of clients. */
export const clientsPath = '/admin/clients'

const filters: readonly ListFilter[] = [
  'all',
  'waiting',
  'disabled',
  'self-described',
  'first-party',
  'unused',
]

/** The marks next to the name of a client. */
export const marksOf = (
  { disabled, self_described, first_party, owned_by }: RegisteredClient,
  waits?: WaitingClient,
): ClientMarks => ({
  // One that was never approved is disabled because it waits.
  disabled: disabled && !waits?.isNew,
  waits: waits && (waits.isNew ? 'new' : 'change'),
  selfDescribed: self_described !== undefined,
  firstParty: first_party,
  organization: owned_by?.id,
})

const filterOf = (parameters: Parameters): ListFilter =>
  filters.find((filter) => filter === parameters.optional('filter')) ?? 'all'

/** Parameters of the URL of a list; defaults are left out. */
const queryOf = (search: string, filter: ListFilter): NamedParameters => ({
  ...(search && { q: search }),
  ...(filter !== 'all' && { filter }),
})

const usageOf = (counted: ListedUsers | undefined, lastUsed: number | undefined) => ({
  users: counted?.users ?? 0,
  isMoreUsers: counted?.isMore ?? false,
  ...(lastUsed !== undefined && { lastUsed: iso(lastUsed) }),
})

const show = async (context: OperatorContext, parameters: Parameters): Promise<void> => {
  const { server, person, notice } = context
  const search = parameters.optional('q', 255)?.trim() ?? ''
  const filter = filterOf(parameters)
  const page = pageNumberOf(parameters)
  const { clients, counts } = await listedClients(server, { search, filter, page })
  const ids = clients.map(({ client }) => client.client_id)
  const counted = await countUsersOfClients(server.database, ids)
  const last = server.eventLog && (await listLastTokens(server.database, ids))
  const total = counts[filter]
  const before = (page - 1) * clientsPerPage
  const isLast = before + clientsPerPage >= total
  context.send('operator-clients', {
    ...(await person.header()),
    query: search,
    filter,
    action: ownPath(server, clientsPath),
    filters: filters
      .filter((kind) => kind === 'all' || kind === filter || counts[kind] > 0)
      .map((kind) => ({
        kind,
        url: ownPath(server, clientsPath, queryOf(search, kind)),
        isCurrent: kind === filter,
        count: counts[kind],
        isMore: kind === 'unused' && counts.all > maxLookedAt,
      })),
    showsLastUse: last !== undefined,
    clients: clients.map(({ client, waits, foundBy }, index) => ({
      id: client.client_id,
      name: client.client_name ?? client.client_id,
      host: searchedWords({ redirect_uris: client.redirect_uris })[0],
      foundBy,
      ...usageOf(counted[index], last?.[index]),
      url: person.clientUrl(client.client_id),
      ...marksOf(client, waits),
    })),
    range: total > clientsPerPage ? { first: before + 1, last: before + clients.length, total } : undefined,
    newUrl: ownPath(server, '/admin/new-client'),
    ...pageLinks(server, clientsPath, { number: page, isLast }, queryOf(search, filter)),
    deleted: notice?.kind === 'deleted' ? notice.about : undefined,
  })
}

/** The registered clients. */
export const clientsPage: OperatorPage = {
  path: clientsPath,
  section: 'clients',
  show,
}
