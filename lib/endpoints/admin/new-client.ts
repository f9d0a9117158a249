import {
  clientForm,
  clientOfForm,
  isFormError,
  type TypedClient,
  typedAs,
  typedClient,
} from '../../clients/client-form.ts'
import type { ClientRegistration } from '../../clients/register.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import {
  type AdminContext,
  adminEndpoint,
  adminForm,
  clientsFor,
  leaveAdminOutcome,
  sectionsOf,
  submittedForm,
} from './admin-endpoint.ts'
import { choicesFor, newFields as names } from './client-fields.ts'

const path = '/admin/new-client'

const showForm = (context: AdminContext, typed: TypedClient, error?: OAuthError): void => {
  const choices = choicesFor(context)
  const model = {
    sections: sectionsOf(context, 'clients'),
    form: clientForm({ names, typed, choices, error }),
    save: adminForm(context, path, 'create'),
    cancelUrl: ownPath(context.server, '/admin'),
  }
  context.send('admin-new-client', model, { status: error?.status ?? 200 })
}

const usual = { grant_types: ['authorization_code', 'refresh_token'] }

const show = (context: AdminContext): void => showForm(context, { ...typedAs(usual, names), other: '' })

const create = async (context: AdminContext): Promise<void> => {
  const { form } = submittedForm(context, [])
  const typed = typedClient(form, names, choicesFor(context))
  try {
    const { client_id, ...members } = clientOfForm(typed, names)
    // Registration checks every member, and takes null for a missing one.
    const given = { ...members, ...(client_id && { client_id }) } as ClientRegistration
    const client = await clientsFor(context).create(given)
    const outcome = { act: 'created', secret: client.client_secret }
    leaveAdminOutcome(context, `client ${client.client_id}`, outcome)
    redirectToPage(context.res, ownPath(context.server, '/admin/client', { client_id: client.client_id }))
  } catch (error) {
    if (!isFormError(error)) throw error
    showForm(context, typed, error)
  }
}

/** Registers a client. */
export const adminNewClientEndpoint = adminEndpoint(path, { GET: show, POST: create })
