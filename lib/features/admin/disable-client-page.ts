import type { OperatorPage } from '../../endpoints/operator-page.ts'
import { aboutClient } from '../../endpoints/page-values.ts'
import { countUsageOfClient, maxCounted } from '../../repositories/index.ts'
import { clientsFor, findNamedClient } from './area.ts'

/** Asks whether to disable a client, and says how many users that concerns. */
export const disableClientPage: OperatorPage = {
  path: '/admin/disable-client',
  section: 'clients',
  fields: ['client_id'],
  async show(context, query) {
    const { server, person } = context
    const { client_id: id, client_name: name = id } = await findNamedClient(context, query)
    context.send('operator-disable-client', {
      ...(await countUsageOfClient(server.database, { clientId: id })),
      maxCounted,
      ...person.header,
      name,
      id,
      disable: context.form(aboutClient(id), 'disable'),
      cancelUrl: person.clientUrl(id),
    })
  },
  acts: {
    async disable(context, form) {
      const { client_id: id } = await findNamedClient(context, form)
      await clientsFor(context).disable(id)
      return { path: '/admin/client', query: aboutClient(id), notice: { kind: 'disabled' } }
    },
  },
}
