import { consentPicture } from '../../oauth/authorization/consent-picture.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { refusal } from '../../protocol/refusal.ts'
import { standardScopes } from '../../protocol/scope.ts'
import { type ClientRecord, countOthersNamed, findClientRecord } from '../../storage/repositories/index.ts'
import type { OperatorContext, OperatorPage } from '../../web/endpoints/operator-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import { ownPath } from '../../web/http/urls.ts'
import {
  type DeveloperAdministration,
  type DeveloperDecision,
  developerAdministration,
  developerClientOf,
} from './administration.ts'
import type { DeveloperOption } from './option.ts'
import { type DeveloperFields, developerFields } from './rules.ts'
import { findClientOwner } from './table.ts'

/** The list of requests. */
export const requestsPath = '/admin/requests'
/** One request, by the id of its client. */
export const requestPath = '/admin/request'

/** The clients of users, whose events have the address of this operator. */
export const developersFor = (
  { server, info }: OperatorContext,
  option: DeveloperOption,
): DeveloperAdministration =>
  developerAdministration({
    ...server,
    option,
    logos: server,
    events: {
      change: (database, work) =>
        server.events.change(database, (tx, tell) =>
          work(tx, (type, _, details) => tell(type, info, details)),
        ),
    },
  })

/** The login names of users, by their ids; users who are gone have none. */
export const ownersOf = async (
  { users }: Pick<AuthorizationServer, 'users'>,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const found = await Promise.all(
    [...new Set(subjects)].map(async (subject) => {
      const user = await users.find(subject)
      return user ? ([[subject, user.username]] as const) : []
    }),
  )
  return new Map(found.flat())
}

/** The lines of a value: each redirect URI and each scope has its own. */
const linesOf = (name: string, value: unknown): string[] => {
  if (value === null || value === undefined) return []
  return Array.isArray(value)
    ? value.map(String)
    : name === 'scope'
      ? String(value).split(' ')
      : [String(value)]
}

/** A member that differs: its lines as they are and as they would be, each with whether the other side lacks it. */
const factOf = (name: string, now: unknown, asked: unknown) => {
  const [before, after] = [linesOf(name, now), linesOf(name, asked)]
  return {
    name,
    now: before.map((text) => ({ text, differs: !after.includes(text) })),
    asked: after.map((text) => ({ text, differs: !before.includes(text) })),
  }
}

/** The requested members: of a change only those that differ, of a new client all that its owner set. */
const factsOf = (before: DeveloperFields, changes: object | undefined) =>
  Object.entries(changes ?? before)
    .filter(([, value]) => value !== null || changes !== undefined)
    .map(([name, value]) => factOf(name, changes && before[name as keyof DeveloperFields], value))

/** The client as it is once the request is approved. */
const asApproved = (record: ClientRecord, changes: object | undefined): ClientRecord => {
  const { self_described: _, ...metadata } = record.metadata
  const changed = Object.entries(changes ?? {}).map(([name, value]) => [name, value ?? undefined])
  return { ...record, metadata: { ...metadata, ...Object.fromEntries(changed) } }
}

/** The consent page of a client that asks for all its scopes, as operators read it. */
const asAsked = ({ metadata }: ClientRecord, username: string) => ({
  scopes: metadata.scope?.split(' ') ?? standardScopes,
  redirectUri: metadata.redirect_uris[0],
  username,
  language: 'en',
})

const show = async (context: OperatorContext, query: Parameters): Promise<void> => {
  const { server, person } = context
  const { database } = server
  const clientId = query.optional('client_id', 255) ?? ''
  const owner = await findClientOwner(database, { clientId })
  const record = await findClientRecord(database, { clientId, now: server.now() })
  if (owner?.status !== 'waiting' || record === undefined)
    throw refusal('parameter_invalid', {
      values: { parameter: 'no', problem: 'request of this client waits' },
      status: 404,
    })
  const { subject, requestedAt, revision, changes } = developerClientOf(record, owner)
  const about = { client_id: clientId, revision: String(revision) }
  const approved = asApproved(record, changes)
  const name = approved.metadata.client_name ?? clientId
  const username = (await ownersOf(server, [subject])).get(subject) ?? subject
  context.send('operator-request', {
    ...(await person.header()),
    name: record.metadata.client_name ?? clientId,
    id: clientId,
    url: person.clientUrl(clientId),
    owner: username,
    ownerUrl: person.userUrl(subject),
    since: iso(requestedAt),
    isChange: changes !== undefined,
    facts: factsOf(developerFields(record.metadata, clientId), changes),
    askedName: name,
    namesakes: await countOthersNamed(database, { name, clientId }),
    picture: consentPicture(server, approved, asAsked(approved, username)),
    approve: context.form(about, 'approve'),
    refuse: context.form(about, 'refuse'),
    listUrl: ownPath(server, requestsPath),
  })
}

/** Decides about the request as it was shown; its owner may have changed it since. */
const decide =
  (
    option: DeveloperOption,
    kind: 'approved' | 'refused',
    run: (
      developers: DeveloperAdministration,
      clientId: string,
      decision: DeveloperDecision,
      form: Parameters,
    ) => Promise<void>,
  ) =>
  async (context: OperatorContext, form: Parameters): Promise<ActResult> => {
    const decision = { revision: Number(form.required('revision')), by: context.person.actor }
    try {
      await run(developersFor(context, option), form.required('client_id'), decision, form)
      return { path: requestsPath, notice: { kind } }
    } catch (error) {
      if (error instanceof OAuthError && error.code === 'invalid_client')
        return { path: requestsPath, notice: { kind: 'stale' } }
      throw error
    }
  }

/** One client of a user that waits for approval, or a change of it: shows what would change, and decides about it. */
export const requestPage = (option: DeveloperOption): OperatorPage => ({
  path: requestPath,
  section: 'requests',
  fields: ['client_id', 'revision'],
  show,
  acts: {
    approve: decide(option, 'approved', (developers, clientId, decision) =>
      developers.approve(clientId, decision),
    ),
    refuse: decide(option, 'refused', (developers, clientId, decision, form) => {
      const reason = form.optional('reason', 1000)?.trim() || undefined
      return developers.refuse(clientId, { ...decision, reason })
    }),
  },
})
