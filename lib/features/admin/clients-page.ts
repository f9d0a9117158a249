import type { RegisteredClient } from '../../clients/administration.ts'
import type { OperatorContext, OperatorPage } from '../../endpoints/operator-page.ts'
import { ownPath } from '../../http/urls.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { clientsFor } from './area.ts'
import type { ClientMarks } from './models.ts'

/** Clients on one page. */
const pageSize = 50

/** The marks next to the name of a client. */
export const marksOf = ({ disabled, self_described, first_party }: RegisteredClient): ClientMarks => ({
  disabled,
  selfDescribed: self_described !== undefined,
  firstParty: first_party,
})

const show = async (context: OperatorContext, parameters: Parameters): Promise<void> => {
  const { server, person, notice } = context
  const search = parameters.optional('q', 255)?.trim()
  const after = parameters.optional('after', 255)
  const found = await clientsFor(context).list({ limit: pageSize + 1, after, search })
  const clients = found.slice(0, pageSize)
  const query: Record<string, string> = search ? { q: search } : {}
  const last = found.length > pageSize ? clients.at(-1)?.client_id : undefined
  context.send('operator-clients', {
    sections: person.sections,
    query: search ?? '',
    action: ownPath(server, '/admin'),
    clients: clients.map((client) => ({
      id: client.client_id,
      name: client.client_name ?? client.client_id,
      url: person.clientUrl(client.client_id),
      ...marksOf(client),
    })),
    newUrl: ownPath(server, '/admin/new-client'),
    previousUrl: after === undefined ? undefined : ownPath(server, '/admin', query),
    nextUrl: last === undefined ? undefined : ownPath(server, '/admin', { ...query, after: last }),
    deleted: notice?.kind === 'deleted' ? notice.about : undefined,
  })
}

/** The registered clients. */
export const clientsPage: OperatorPage = {
  path: '/admin',
  section: 'clients',
  show,
}
