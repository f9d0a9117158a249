import {
  clientForm,
  clientOfForm,
  type TypedClient,
  typedAs,
  typedClient,
  unlessRefused,
} from '../../clients/client-form.ts'
import type { ClientRegistration } from '../../clients/register.ts'
import type { OperatorContext, OperatorPage } from '../../endpoints/operator-page.ts'
import { ownPath } from '../../http/urls.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import { aboutClient, clientsFor } from './area.ts'
import { choicesFor, newFields as names } from './client-fields.ts'

const showForm = (context: OperatorContext, typed: TypedClient, error?: OAuthError): void => {
  const choices = choicesFor(context)
  const model = {
    sections: context.person.sections,
    form: clientForm({ names, typed, choices, error }),
    save: context.form({}, 'create'),
    cancelUrl: ownPath(context.server, '/admin'),
  }
  context.send('operator-new-client', model, { status: error?.status ?? 200 })
}

const usual = { grant_types: ['authorization_code', 'refresh_token'] }

/** Registers a client. */
export const newClientPage: OperatorPage = {
  path: '/admin/new-client',
  section: 'clients',
  show: (context) => showForm(context, { ...typedAs(usual, names), other: '' }),
  acts: {
    create(context, form) {
      const typed = typedClient(form, names, choicesFor(context))
      const create = async () => {
        const { client_id, ...members } = clientOfForm(typed, names)
        // Registration checks every member, and takes null for a missing one.
        const given = { ...members, ...(client_id && { client_id }) } as ClientRegistration
        const client = await clientsFor(context).create(given)
        const notice = { kind: 'created', secret: client.client_secret }
        return { path: '/admin/client', query: aboutClient(client.client_id), notice }
      }
      return unlessRefused(create, (error) => showForm(context, typed, error))
    },
  },
}
