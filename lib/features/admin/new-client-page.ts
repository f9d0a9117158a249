import {
  clientForm,
  clientOfForm,
  type RefusedClient,
  submitClientForm,
  type TypedClient,
} from '../../oauth/clients/client-form.ts'
import type { ClientRegistration } from '../../oauth/clients/register.ts'
import type { OperatorContext, OperatorPage } from '../../web/endpoints/operator-page.ts'
import { clientParameter } from '../../web/endpoints/page-values.ts'
import { ownPath } from '../../web/http/urls.ts'
import { clientsFor } from './area.ts'
import { choicesFor, inParts, newFields as names, usualClient, withScopesInWords } from './client-fields.ts'

const showForm = async (
  context: OperatorContext,
  { typed, error }: Partial<RefusedClient> = {},
): Promise<void> => {
  const model = {
    ...(await context.person.header()),
    form: inParts(
      withScopesInWords(
        context,
        clientForm({ names, typed: typed ?? usualClient, choices: choicesFor(context), error }),
      ),
    ),
    save: context.form({}, 'create'),
    cancelUrl: ownPath(context.server, '/admin/clients'),
  }
  context.send('operator-new-client', model, { status: error?.status ?? 200 })
}

/** Registers a client. */
export const newClientPage: OperatorPage = {
  path: '/admin/new-client',
  section: 'clients',
  show: (context) => showForm(context),
  acts: {
    create(context, form) {
      const create = async (typed: TypedClient) => {
        const { client_id, ...members } = clientOfForm(typed, names)
        // Registration checks every member, and takes null for a missing one.
        const given = { ...members, ...(client_id && { client_id }) } as ClientRegistration
        const client = await clientsFor(context).create(given)
        const notice = { kind: 'created', secret: client.client_secret }
        return { path: '/admin/client', query: clientParameter(client.client_id), notice }
      }
      return submitClientForm(form, { names, choices: choicesFor(context) }, create, (refused) =>
        showForm(context, refused),
      )
    },
  },
}
