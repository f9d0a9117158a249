import { createHash } from 'node:crypto'
import { metadataOf, type RegisteredClient } from '../../oauth/clients/administration.ts'
import {
  clientForm,
  clientOfForm,
  type RefusedClient,
  submitClientForm,
  type TypedClient,
  typedAs,
} from '../../oauth/clients/client-form.ts'
import { waitingClients } from '../../oauth/clients/listing.ts'
import { usesSecret } from '../../protocol/clients/client.ts'
import { withoutInternals } from '../../protocol/clients/client-metadata.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { countUsageOfClient, maxCounted } from '../../storage/repositories/index.ts'
import type { OperatorContext, OperatorPage } from '../../web/endpoints/operator-page.ts'
import { clientParameter, iso } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import { ownPath } from '../../web/http/urls.ts'
import { type Notice, noticeOf } from '../../web/sessions/notice.ts'
import { clientsFor, findNamedClient } from './area.ts'
import { choicesFor, inParts, editFields as names, withScopesInWords } from './client-fields.ts'
import { marksOf } from './clients-page.ts'
import { disableClientPage } from './disable-client-page.ts'

const notices = ['created', 'saved', 'rotated', 'disabled', 'enabled', 'stale'] as const

/** Stands for the metadata that a form was made of. */
const versionOf = (client: RegisteredClient): string =>
  createHash('sha256')
    .update(JSON.stringify(metadataOf(client)))
    .digest('base64url')

const showClient = async (
  context: OperatorContext,
  client: RegisteredClient,
  refused?: RefusedClient,
): Promise<void> => {
  const { server, person, notice } = context
  const { client_id, client_name, client_id_issued_at, client_secret_expires_at: expires } = client
  const about = clientParameter(client_id)
  const version = { ...about, version: versionOf(client) }
  const metadata = withoutInternals(metadataOf(client))
  const marks = marksOf(client, (await waitingClients(server, [client_id])).get(client_id))
  const model = {
    ...marks,
    ...(await person.header()),
    name: client_name ?? client_id,
    id: client_id,
    since: iso(client_id_issued_at),
    users: (await countUsageOfClient(server.database, { clientId: client_id })).users,
    maxCounted,
    usesSecret: usesSecret(client),
    secretExpires: expires === undefined ? undefined : iso(expires),
    form: inParts(
      withScopesInWords(
        context,
        clientForm({
          names,
          error: refused?.error,
          choices: choicesFor(context, client),
          typed: refused?.typed ?? typedAs({ ...metadata }, names),
        }),
      ),
    ),
    save: context.form(version, 'save'),
    rotate: usesSecret(client) ? context.form(about, 'rotate') : undefined,
    disableUrl: client.disabled ? undefined : ownPath(server, disableClientPage.path, about),
    // A client that waits is enabled by its approval alone.
    enable: marks.disabled ? context.form(version, 'enable') : undefined,
    removeUrl: ownPath(server, '/admin/delete-client', about),
    eventsUrl: server.eventLog && ownPath(server, '/admin/events', { client: client_id }),
    links: person.linksAbout({ client: client_id }),
    notice: noticeOf(notice, notices),
    secret: notice?.secret,
    previousUntil: notice?.previousUntil === undefined ? undefined : iso(notice.previousUntil),
  }
  context.send('operator-client', model, { status: refused?.error.status ?? 200 })
}

/** An act on a client, which leads back to its page. Another administrator, or its owner, may have changed it since. */
const act =
  (
    run: (
      context: OperatorContext,
      client: RegisteredClient,
      form: Parameters,
    ) => Promise<Notice | undefined>,
    isVersioned = false,
  ) =>
  async (context: OperatorContext, form: Parameters): Promise<ActResult | undefined> => {
    const client = await findNamedClient(context, form)
    const query = clientParameter(client.client_id)
    const stale = { query, notice: { kind: 'stale' } }
    if (isVersioned && form.optional('version') !== versionOf(client)) return stale
    try {
      const notice = await run(context, client, form)
      return notice && { query, notice }
    } catch (error) {
      if (error instanceof OAuthError && error.status === 409) return stale
      throw error
    }
  }

/** One client: shows and changes it. */
export const operatorClientPage: OperatorPage = {
  path: '/admin/client',
  section: 'clients',
  fields: ['client_id', 'version'],
  show: async (context, query) => showClient(context, await findNamedClient(context, query)),
  acts: {
    save: act((context, client, form) => {
      const choices = choicesFor(context, client)
      const save = async (typed: TypedClient): Promise<Notice> => {
        const changes = clientOfForm(typed, names, { ...withoutInternals(metadataOf(client)) })
        const saved = await clientsFor(context).update(client.client_id, changes, { ifUnchanged: client })
        return { kind: 'saved', secret: saved.client_secret }
      }
      return submitClientForm(form, { names, choices }, save, (refused) =>
        showClient(context, client, refused),
      )
    }, true),
    rotate: act(async (context, client) => {
      const rotated = await clientsFor(context).rotateSecret(client.client_id)
      return {
        kind: 'rotated',
        secret: rotated.client_secret,
        previousUntil: rotated.previous_secret_expires_at,
      }
    }),
    enable: act(async (context, client) => {
      await clientsFor(context).enable(client.client_id, { ifUnchanged: client })
      return { kind: 'enabled' }
    }, true),
  },
}
