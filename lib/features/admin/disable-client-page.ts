import type { OperatorPage } from '../../web/endpoints/operator-page.ts'
import { clientParameter } from '../../web/endpoints/page-values.ts'
import { clientInNumbers, clientsFor, findNamedClient } from './area.ts'

/** Asks whether to disable a client, and says how many users that concerns. */
export const disableClientPage: OperatorPage = {
  path: '/admin/disable-client',
  section: 'clients',
  fields: ['client_id'],
  async show(context, query) {
    const client = await findNamedClient(context, query)
    context.send('operator-disable-client', {
      ...(await clientInNumbers(context, client)),
      disable: context.form(clientParameter(client.client_id), 'disable'),
    })
  },
  acts: {
    async disable(context, form) {
      const { client_id: id } = await findNamedClient(context, form)
      await clientsFor(context).disable(id)
      return { path: '/admin/client', query: clientParameter(id), notice: { kind: 'disabled' } }
    },
  },
}
