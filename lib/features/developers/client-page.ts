import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { clientAdministration } from '../../oauth/clients/administration.ts'
import {
  absoluteLifetime,
  allowedScopes,
  type Client,
  clientName,
  usesSecret,
} from '../../protocol/clients/client.ts'
import { splitAtDifference } from '../../protocol/explanation.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { countUsageOfClient, maxCounted } from '../../storage/repositories/client-usage.ts'
import type { ClientRecord } from '../../storage/repositories/clients.ts'
import { listNewestEvents } from '../../storage/repositories/events.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import { clientParameter, iso } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { ownPath } from '../../web/http/urls.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { snippetPath } from './code-page.ts'
import type { DeveloperNotice, DeveloperProgress } from './declarations.ts'
import { clientStateOf } from './list-page.ts'
import type { DeveloperOption } from './option.ts'
import {
  clientPath,
  type DeveloperPageContext,
  developerPage,
  findOwnClient,
  listPath,
  recent,
} from './page.ts'
import { progressOf, type RefusedStep } from './progress.ts'

const notices: readonly DeveloperNotice[] = ['created', 'saved', 'sent', 'rotated']

/** Leads to the page of a client, which says once what has happened. */
export const toClient = (clientId: string, kind: DeveloperNotice, secret?: string): ActResult => ({
  path: clientPath,
  query: clientParameter(clientId),
  notice: { kind, secret },
})

/** A secret that has expired is the host's to replace. */
const mayRotate = ({ metadata }: Client, now: number): boolean =>
  usesSecret(metadata) && (metadata.client_secret_expires_at ?? Number.POSITIVE_INFINITY) > now

/** With the difference marked. */
const shownRefusal = ({
  time,
  path,
  reason,
  expected,
  received,
}: RefusedStep): DeveloperProgress['refused'] => ({
  time: iso(time),
  path,
  reason,
  ...(expected !== undefined &&
    received !== undefined && { expected, received: splitAtDifference({ expected, received }) }),
})

/** The completed steps of a client; undefined if events are not stored. */
const progressFor = async (
  { server }: PageContext,
  { clientId, createdAt }: ClientRecord,
): Promise<DeveloperProgress | undefined> => {
  if (server.eventLog === undefined) return undefined
  const { steps, refused } = progressOf(createdAt, await listNewestEvents(server.database, { clientId }))
  return {
    steps: steps.map(({ step, time }) => ({ step, ...(time !== undefined && { time: iso(time) }) })),
    ...(refused && { refused: shownRefusal(refused) }),
  }
}

/** One client of a developer. */
export const developerClientPage = (option: DeveloperOption): Endpoint<PageContext> =>
  developerPage(option, {
    path: clientPath,
    fields: ['client_id'],
    async show(context, query) {
      const { server, language, notice, person } = context
      const { owner, client } = await findOwnClient(context, query)
      const { clientId, metadata } = client
      const url = (path: string): string => ownPath(server, path, clientParameter(clientId))
      context.send('developer-client', {
        ...(await accountModel(context, person.user, 'developer')),
        client: { name: clientName(client, language), clientId, state: clientStateOf(owner, client) },
        isPublic: metadata.token_endpoint_auth_method === 'none',
        redirectUris: metadata.redirect_uris,
        scopes: allowedScopes(client).map((name) => ({
          ...scopeWords(server, name, language, absoluteLifetime(metadata, server.options.lifetimes)),
          name,
        })),
        issuer: server.issuer,
        discoveryUrl: `${server.issuer}/.well-known/openid-configuration`,
        progress: await progressFor(context, client),
        users: (await countUsageOfClient(server.database, { clientId })).users,
        maxCounted,
        codeUrl: url(snippetPath),
        againUrl: url(clientPath),
        reason: owner.reason ?? undefined,
        notice: noticeOf(notice, notices),
        secret: notice?.secret,
        editUrl: url('/developer/edit'),
        rotateUrl: mayRotate(client, server.now()) ? url('/developer/rotate') : undefined,
        deleteUrl: url('/developer/delete'),
      })
    },
  })

/** The administration of clients, whose events say which user acted. */
const clientsFor = ({ server, info, person: { subject } }: DeveloperPageContext) =>
  clientAdministration({ ...server, by: { subject, info } })

type Act = (context: DeveloperPageContext, clientId: string, form: Parameters) => Promise<ActResult>

/** A page that asks whether to do something with a client, and does it. */
const confirmedPage =
  (kind: 'rotate' | 'delete', act: Act) =>
  (option: DeveloperOption): Endpoint<PageContext> =>
    developerPage(option, {
      path: `/developer/${kind}`,
      fields: ['client_id'],
      recent,
      async show(context, query) {
        const { client } = await findOwnClient(context, query)
        const about = clientParameter(client.clientId)
        context.send('developer-confirm', {
          kind,
          ...context.form(about, kind),
          client: { name: clientName(client, context.language) },
          cancelUrl: ownPath(context.server, clientPath, about),
        })
      },
      acts: {
        [kind]: async (context, form) => {
          const { client } = await findOwnClient(context, form)
          return act(context, client.clientId, form)
        },
      },
    })

/** Asks whether to give a client a new secret. */
export const rotatePage = confirmedPage('rotate', async (context, clientId, form) => {
  const keepPreviousFor = form.optional('now') === 'on' ? 0 : undefined
  const rotated = await clientsFor(context).rotateSecret(clientId, { keepPreviousFor, keepExpiry: true })
  return toClient(clientId, 'rotated', rotated.client_secret)
})

/** Asks whether to delete a client. */
export const deletePage = confirmedPage('delete', async (context, clientId) => {
  await clientsFor(context).delete(clientId)
  return { path: listPath, notice: { kind: 'deleted' } }
})
