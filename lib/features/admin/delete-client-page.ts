import {
  leaveOperatorOutcome,
  type OperatorContext,
  type OperatorPage,
  operatorForm,
  submittedForm,
} from '../../endpoints/operator-page.ts'
import { queryParameters } from '../../http/form.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { countUsageOfClient } from '../../repositories/index.ts'
import { clientsFor } from './area.ts'
import { existing } from './client-page.ts'

const path = '/admin/delete-client'

const show = async (context: OperatorContext): Promise<void> => {
  const { server, req } = context
  const client = await existing(context, queryParameters(req).optional('client_id'))
  const about = { client_id: client.client_id }
  context.send('operator-delete-client', {
    ...(await countUsageOfClient(server.database, { clientId: client.client_id })),
    sections: context.sections,
    name: client.client_name ?? client.client_id,
    id: client.client_id,
    disabled: client.disabled,
    remove: operatorForm(context, path, 'delete', about),
    cancelUrl: ownPath(server, '/admin/client', about),
  })
}

const submit = async (context: OperatorContext): Promise<void> => {
  const { about } = submittedForm(context, ['client_id'])
  const client = await existing(context, about.client_id)
  await clientsFor(context).delete(client.client_id)
  // A longer name would not fit into the cookie.
  const name = (client.client_name ?? client.client_id).slice(0, 255)
  leaveOperatorOutcome(context, 'clients', { act: 'deleted', about: name })
  redirectToPage(context.res, ownPath(context.server, '/admin'))
}

/** Asks whether to delete a client, and deletes it. */
export const deleteClientPage: OperatorPage = {
  path,
  section: 'clients',
  GET: show,
  POST: submit,
}
