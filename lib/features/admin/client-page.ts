import { createHash } from 'node:crypto'
import { metadataOf, type RegisteredClient } from '../../clients/administration.ts'
import {
  clientForm,
  clientOfForm,
  isFormError,
  type TypedClient,
  typedAs,
  typedClient,
} from '../../clients/client-form.ts'
import {
  leaveOperatorOutcome,
  noticeOf,
  type OperatorContext,
  type OperatorPage,
  type OperatorSubmission,
  operatorForm,
  submittedForm,
  takeOperatorOutcome,
} from '../../endpoints/operator-page.ts'
import { iso } from '../../endpoints/page-values.ts'
import { queryParameters } from '../../http/form.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { usesSecret } from '../../protocol/clients/client.ts'
import { withoutInternals } from '../../protocol/clients/client-metadata.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import type { Outcome } from '../../sessions/notice.ts'
import { clientsFor } from './area.ts'
import { choicesFor, editFields as names } from './client-fields.ts'
import { marksOf } from './clients-page.ts'

const path = '/admin/client'
const notices = ['created', 'saved', 'rotated', 'disabled', 'enabled', 'stale'] as const

/** @throws OAuthError `invalid_request` with status 404 if no client has this id */
export const existing = async (
  context: OperatorContext,
  clientId: string | undefined,
): Promise<RegisteredClient> => {
  const client = clientId === undefined ? undefined : await clientsFor(context).get(clientId)
  if (client) return client
  throw new OAuthError('invalid_request', 'no client has this client_id', { status: 404 })
}

/** Stands for the metadata that a form was made of. */
const versionOf = (client: RegisteredClient): string =>
  createHash('sha256')
    .update(JSON.stringify(metadataOf(client)))
    .digest('base64url')

const showClient = (
  context: OperatorContext,
  client: RegisteredClient,
  {
    outcome,
    typed,
    error,
  }: { readonly outcome?: Outcome | undefined; readonly typed?: TypedClient; readonly error?: OAuthError },
): void => {
  const { server } = context
  const { client_id, client_name, client_id_issued_at, client_secret_expires_at: expires } = client
  const about = { client_id }
  const metadata = withoutInternals(metadataOf(client))
  const model = {
    ...marksOf(client),
    sections: context.sections,
    name: client_name ?? client_id,
    id: client_id,
    since: iso(client_id_issued_at),
    usesSecret: usesSecret(client),
    secretExpires: expires === undefined ? undefined : iso(expires),
    form: clientForm({
      names,
      error,
      choices: choicesFor(context, client.grant_types),
      typed: typed ?? typedAs({ ...metadata }, names),
    }),
    save: operatorForm(context, path, 'save', { ...about, version: versionOf(client) }),
    rotate: usesSecret(client) ? operatorForm(context, path, 'rotate', about) : undefined,
    toggle: client.disabled
      ? operatorForm(context, path, 'enable', { ...about, version: versionOf(client) })
      : operatorForm(context, path, 'disable', about),
    removeUrl: ownPath(server, '/admin/delete-client', about),
    eventsUrl: server.eventLog && ownPath(server, '/admin/events', { client: client_id }),
    notice: noticeOf(outcome, notices),
    secret: outcome?.secret,
    previousUntil: outcome?.previousUntil === undefined ? undefined : iso(outcome.previousUntil),
  }
  context.send('operator-client', model, { status: error?.status ?? 200 })
}

const show = async (context: OperatorContext): Promise<void> => {
  const client = await existing(context, queryParameters(context.req).optional('client_id'))
  showClient(context, client, { outcome: takeOperatorOutcome(context, `client ${client.client_id}`) })
}

const save = async (
  context: OperatorContext,
  client: RegisteredClient,
  { form, version }: { readonly form: Parameters; readonly version: string | undefined },
): Promise<Outcome | undefined> => {
  if (version !== versionOf(client)) return { act: 'stale' }
  const typed = typedClient(form, names, choicesFor(context, client.grant_types))
  try {
    const changes = clientOfForm(typed, names, { ...withoutInternals(metadataOf(client)) })
    const saved = await clientsFor(context).update(client.client_id, changes, { ifUnchanged: client })
    return { act: 'saved', secret: saved.client_secret }
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return { act: 'stale' }
    if (!isFormError(error)) throw error
    showClient(context, client, { typed, error })
    return undefined
  }
}

/** Enabling also approves a client of a user, who may have changed it since the page was shown. */
const enable = async (
  context: OperatorContext,
  client: RegisteredClient,
  version: string | undefined,
): Promise<Outcome> => {
  if (version !== versionOf(client)) return { act: 'stale' }
  try {
    await clientsFor(context).enable(client.client_id, { ifUnchanged: client })
    return { act: 'enabled' }
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return { act: 'stale' }
    throw error
  }
}

type Submission = OperatorSubmission<'client_id' | 'version'>

/** @returns what the act has led to; undefined if the request is answered */
const done = async (
  context: OperatorContext,
  client: RegisteredClient,
  { act, about, form }: Submission,
): Promise<Outcome | undefined> => {
  const clients = clientsFor(context)
  const { client_id } = client
  if (act === 'save') return save(context, client, { form, version: about.version })
  if (act === 'rotate') {
    const { client_secret: secret, previous_secret_expires_at } = await clients.rotateSecret(client_id)
    return { act: 'rotated', secret, previousUntil: previous_secret_expires_at }
  }
  // The CSRF token allows no other act.
  if (act === 'enable') return enable(context, client, about.version)
  await clients.disable(client_id)
  return { act: 'disabled' }
}

const submit = async (context: OperatorContext): Promise<void> => {
  const submission = submittedForm(context, ['client_id', 'version'])
  const client = await existing(context, submission.about.client_id)
  const outcome = await done(context, client, submission)
  if (outcome === undefined) return
  leaveOperatorOutcome(context, `client ${client.client_id}`, outcome)
  redirectToPage(context.res, ownPath(context.server, path, { client_id: client.client_id }))
}

/** One client: shows and changes it. */
export const clientPage: OperatorPage = {
  path,
  section: 'clients',
  GET: show,
  POST: submit,
}
