import { scopeWords } from '../../../oauth/authorization/consent-scopes.ts'
import { thingsName, tickedIds } from '../../../oauth/choices/consent-things.ts'
import { findThings, listThings, type ThingsContext } from '../../../oauth/choices/things.ts'
import type { Choice } from '../../../options/choices/option.ts'
import { type Choices, chosenOf, mostChosen } from '../../../protocol/choices.ts'
import type { Narrowing } from '../../../protocol/narrowing.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import { parseEntry } from '../../../protocol/requests/consent.ts'
import { durations } from '../../../protocol/requests/next-step.ts'
import { findClient } from '../../../storage/repositories/index.ts'
import type { ConnectedClient } from '../../../users/account/connected-clients.ts'
import { narrowClient } from '../../../users/account/narrow-client.ts'
import { sameClientsAs } from '../../../users/account/same-clients.ts'
import { redirectToPage } from '../../http/redirect.ts'
import { ownPath } from '../../http/urls.ts'
import type { ConsentThings } from '../../pages/page-models.ts'
import { clientParameters, findConnected, organizationNames } from '../account/remove-client.ts'
import { iso, pageLinks, pageNumberOf } from '../page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../signed-page.ts'

/** The page where a user takes something away from a connected client. */
export const accessPath = '/account/access'

type Context = SignedContext<SignedInUser>

/** From this many things on, a choice of all stays one, or the client asks again. */
const manyThings = 50

/** Chosen things on one page, of all kinds together: a form has at most 64 fields. */
const pageSize = 40

/** The chosen things that a page shows: those of other pages stay as they are. */
const shownIds = ({ server }: Context, chosen: readonly string[], page: number): readonly string[] => {
  const size = Math.floor(pageSize / server.options.choices.length)
  return chosen.slice((page - 1) * size, page * size)
}

/** Whether a kind has chosen things on the pages after this one. */
const hasMore = (context: Context, choices: Choices, page: number): boolean =>
  Object.values(choices).some((chosen) => chosen !== 'all' && shownIds(context, chosen, page + 1).length > 0)

/** The scopes that a user can take away. Without `openid` and `offline_access` the client would have no access at all. */
const removableScopes = ({ scopes }: ConnectedClient): string[] => {
  const names = scopes.flatMap((entry) => parseEntry(entry).scope ?? [])
  return [...new Set(names)].filter((name) => name !== 'openid' && name !== 'offline_access')
}

const aboutClient = async (
  { server, person }: Context,
  { clientId, organization }: ConnectedClient,
): Promise<ThingsContext | undefined> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client && { user: person.user, client, organization }
}

/** What a client has of a kind, to be ticked off; undefined if that is nothing. */
const thingsOf = async (
  kind: Choice,
  about: ThingsContext,
  context: Context,
  { choices, page }: { readonly choices: Choices; readonly page: number },
): Promise<ConsentThings | undefined> => {
  const chosen = chosenOf(choices, kind.kind)
  if (chosen === undefined) return undefined
  const shown = { kind: kind.kind, name: thingsName(kind, context.language), mayAll: chosen === 'all' }
  if (chosen !== 'all') {
    const ids = shownIds(context, chosen, page)
    const items = (await findThings(kind, about, ids)).map((thing) => ({ ...thing, checked: true }))
    return { ...shown, mode: 'these', items }
  }
  const { things, next, total } = await listThings(kind, about, { limit: manyThings })
  const items = next === undefined ? things.map((thing) => ({ ...thing, checked: false })) : []
  return { ...shown, mode: 'all', items, ...(total !== undefined && { total }) }
}

const named = async (context: Context, parameters: Parameters): Promise<ConnectedClient | undefined> => {
  const clientId = parameters.optional('client_id')
  return clientId === undefined ? undefined : findConnected(context, clientId, parameters, context.person)
}

/** The limits that would end access earlier than now. */
const earlierEnds = (now: number, end: number | undefined) =>
  (['month', 'day'] as const).filter((name) => now + durations[name] < (end ?? Number.POSITIVE_INFINITY))

const show = async (context: Context, query: Parameters): Promise<void> => {
  const { server, language, person } = context
  const client = await named(context, query)
  const about = client && (await aboutClient(context, client))
  if (client === undefined || about === undefined) return redirectToPage(context, ownPath(server, '/account'))
  const { name, host, organization, choices = {}, end, longest } = client
  const page = pageNumberOf(query)
  const things: ConsentThings[] = []
  for (const kind of server.options.choices) {
    const shown = await thingsOf(kind, about, context, { choices, page })
    if (shown) things.push(shown)
  }
  const names = organization === undefined ? undefined : await organizationNames(context, person.user)
  context.send('narrow-client', {
    ...context.form({ ...clientParameters(client), page: String(page) }, 'narrow'),
    ...pageLinks(
      server,
      accessPath,
      { number: page, isLast: !hasMore(context, choices, page) },
      clientParameters(client),
    ),
    client: { name, host },
    ...(organization !== undefined && { organization: names?.get(organization) ?? organization }),
    username: person.user.username,
    scopes: removableScopes(client).map((scope) => ({
      name: scope,
      ...scopeWords(server, scope, language, longest),
    })),
    things,
    durations: earlierEnds(server.now(), end).map((each) => ({ duration: each, seconds: durations[each] })),
    ...(end !== undefined && { ends: iso(end) }),
    ...(context.notice?.kind === 'saved' && { notice: 'saved' }),
    cancelUrl: ownPath(server, '/account'),
  })
}

/** What the form takes away: whatever was there and is no longer ticked. */
const narrowingOf = async (
  context: Context,
  about: ThingsContext,
  client: ConnectedClient,
  form: Parameters,
): Promise<Narrowing> => {
  const { server } = context
  const scopes = removableScopes(client).filter((scope) => !form.has(`scope:${scope}`))
  const choices: Record<string, Choices[string]> = {}
  for (const kind of server.options.choices) {
    const chosen = chosenOf(client.choices ?? {}, kind.kind)
    if (chosen === undefined || (chosen === 'all' && form.optional(`choice:${kind.kind}`) !== 'these'))
      continue
    const ticked = tickedIds(form, `thing:${kind.kind}:`).slice(0, mostChosen)
    const shown = chosen === 'all' ? [] : shownIds(context, chosen, pageNumberOf(form))
    const others = chosen === 'all' ? [] : chosen.filter((id) => !shown.includes(id))
    const found = await findThings(kind, about, ticked)
    choices[kind.kind] = [...found.map(({ id }) => id), ...others]
  }
  const ends = earlierEnds(server.now(), client.end)
  const duration = ends.find((each) => each === form.optional('duration'))
  return { scopes, choices, ...(duration && { until: server.now() + durations[duration] }) }
}

/** Takes things away from a connected client. It never gives any: that only a request of the client does. */
export const accessEndpoint = accountPage({
  path: accessPath,
  fields: ['client_id', 'organization', 'page'],
  show,
  acts: {
    async narrow(context, form) {
      const { server, person, info } = context
      const client = await named(context, form)
      const about = client && (await aboutClient(context, client))
      if (client === undefined || about === undefined)
        throw refusal('parameter_invalid', {
          values: { parameter: 'client_id', problem: 'must name a connected client' },
          status: 404,
        })
      const narrowing = await narrowingOf(context, about, client, form)
      for (const clientId of await sameClientsAs(server, person.id, client.clientId)) {
        const connection = { subject: person.id, clientId, organization: client.organization }
        await narrowClient(server, connection, narrowing, { info })
      }
      return { query: clientParameters(client), notice: { kind: 'saved' } }
    },
  },
})
