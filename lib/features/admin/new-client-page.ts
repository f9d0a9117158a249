import {
  clientForm,
  clientOfForm,
  isFormError,
  type TypedClient,
  typedAs,
  typedClient,
} from '../../clients/client-form.ts'
import type { ClientRegistration } from '../../clients/register.ts'
import {
  leaveOperatorOutcome,
  type OperatorContext,
  type OperatorPage,
  operatorForm,
  submittedForm,
} from '../../endpoints/operator-page.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import { clientsFor } from './area.ts'
import { choicesFor, newFields as names } from './client-fields.ts'

const path = '/admin/new-client'

const showForm = (context: OperatorContext, typed: TypedClient, error?: OAuthError): void => {
  const choices = choicesFor(context)
  const model = {
    sections: context.sections,
    form: clientForm({ names, typed, choices, error }),
    save: operatorForm(context, path, 'create'),
    cancelUrl: ownPath(context.server, '/admin'),
  }
  context.send('operator-new-client', model, { status: error?.status ?? 200 })
}

const usual = { grant_types: ['authorization_code', 'refresh_token'] }

const show = (context: OperatorContext): void => showForm(context, { ...typedAs(usual, names), other: '' })

const create = async (context: OperatorContext): Promise<void> => {
  const { form } = submittedForm(context, [])
  const typed = typedClient(form, names, choicesFor(context))
  try {
    const { client_id, ...members } = clientOfForm(typed, names)
    // Registration checks every member, and takes null for a missing one.
    const given = { ...members, ...(client_id && { client_id }) } as ClientRegistration
    const client = await clientsFor(context).create(given)
    const outcome = { act: 'created', secret: client.client_secret }
    leaveOperatorOutcome(context, `client ${client.client_id}`, outcome)
    redirectToPage(context.res, ownPath(context.server, '/admin/client', { client_id: client.client_id }))
  } catch (error) {
    if (!isFormError(error)) throw error
    showForm(context, typed, error)
  }
}

/** Registers a client. */
export const newClientPage: OperatorPage = {
  path,
  section: 'clients',
  GET: show,
  POST: create,
}
