import type { OperatorPage } from '../../endpoints/operator-page.ts'
import { aboutClient } from '../../endpoints/page-values.ts'
import { countUsageOfClient, maxCounted } from '../../repositories/index.ts'
import { clientsFor, findNamedClient } from './area.ts'

/** Asks whether to delete a client, and deletes it. */
export const deleteClientPage: OperatorPage = {
  path: '/admin/delete-client',
  section: 'clients',
  fields: ['client_id'],
  async show(context, query) {
    const { server, person } = context
    const { client_id: id, client_name: name = id, disabled } = await findNamedClient(context, query)
    context.send('operator-delete-client', {
      ...(await countUsageOfClient(server.database, { clientId: id })),
      maxCounted,
      ...person.header,
      name,
      id,
      disabled,
      remove: context.form(aboutClient(id), 'delete'),
      cancelUrl: person.clientUrl(id),
    })
  },
  acts: {
    async delete(context, form) {
      const { client_id: id, client_name: name = id } = await findNamedClient(context, form)
      await clientsFor(context).delete(id)
      // A longer name would not fit into the cookie.
      return { path: '/admin/clients', notice: { kind: 'deleted', about: name.slice(0, 255) } }
    },
  },
}
