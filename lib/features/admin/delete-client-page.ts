import type { OperatorPage } from '../../web/endpoints/operator-page.ts'
import { clientParameter } from '../../web/endpoints/page-values.ts'
import { clientInNumbers, clientsFor, findNamedClient } from './area.ts'

/** Asks whether to delete a client, and deletes it. */
export const deleteClientPage: OperatorPage = {
  path: '/admin/delete-client',
  section: 'clients',
  fields: ['client_id'],
  async show(context, query) {
    const client = await findNamedClient(context, query)
    context.send('operator-delete-client', {
      ...(await clientInNumbers(context, client)),
      disabled: client.disabled,
      remove: context.form(clientParameter(client.client_id), 'delete'),
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
