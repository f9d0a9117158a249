import { scopeWords } from '../../../oauth/authorization/consent-scopes.ts'
import { meaningOf } from '../../../oauth/authorization/context.ts'
import { thingsName, tickedIds } from '../../../oauth/choices/consent-things.ts'
import { findThings, listThings, type ThingsContext } from '../../../oauth/choices/things.ts'
import type { Choice } from '../../../options/choices/option.ts'
import { type Choices, type Chosen, chosenOf, limitedTo, mostChosen } from '../../../protocol/choices.ts'
import type { Client } from '../../../protocol/clients/client.ts'
import type { Narrowing } from '../../../protocol/narrowing.ts'
import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import {
  type ConsentReceipt,
  parseEntry,
  type ReceiptScope,
  type ReceiptThings,
} from '../../../protocol/requests/consent.ts'
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
import { markedThings, markOf } from './picking.ts'

/** The page where a user takes something away from a connected client. */
export const accessPath = '/account/access'

type Context = SignedContext<SignedInUser>

/** Things on one page, of all kinds together: a form has at most 64 fields, and scopes need theirs. */
const pageSize = 30

/** Things of one kind on a page. Where there are more, a choice of all stays one, or the client asks again. */
const sizeOf = ({ server }: Context): number =>
  Math.max(1, Math.floor(pageSize / server.options.choices.length))

/** The chosen things of one page. */
const idsOfPage = (context: Context, chosen: Chosen, page: number): readonly string[] =>
  chosen === 'all' ? [] : chosen.slice((page - 1) * sizeOf(context), page * sizeOf(context))

/** The page of the URL, or the last one if things of that page have been taken away. */
const pageIn = (context: Context, choices: Choices, query: Parameters) => {
  const lengths = Object.values(choices).map((chosen) => (chosen === 'all' ? 0 : chosen.length))
  const last = Math.max(1, Math.ceil(Math.max(0, ...lengths) / sizeOf(context)))
  const number = Math.min(pageNumberOf(query), last)
  return { number, isLast: number === last }
}

/** Marks of the chosen things of one page. The form brings them back, so that things of other pages stay. */
const marksOfPage = (context: Context, choices: Choices, page: number): string =>
  Object.entries(choices)
    .flatMap(([kind, chosen]) => idsOfPage(context, chosen, page).map((id) => markOf(`${kind}:${id}`)))
    .join(' ')

/** The scopes that a user can take away. Without `openid` and `offline_access` the client would have no access at all. */
const removableScopes = ({ scopes }: ConnectedClient): string[] => {
  const names = scopes.flatMap((entry) => parseEntry(entry).scope ?? [])
  return [...new Set(names)].filter((name) => name !== 'openid' && name !== 'offline_access')
}

interface AboutClient extends ThingsContext {
  readonly client: Client
}

const aboutClient = async (
  { server, person }: Context,
  { clientId, organization }: ConnectedClient,
): Promise<AboutClient | undefined> => {
  const client = await findClient(server.database, { clientId, now: server.now() })
  return client && { user: person.user, client, organization }
}

/** The things of a kind that a client has, to be ticked off; undefined if it has none. */
const thingsOf = async (
  kind: Choice,
  about: ThingsContext,
  context: Context,
  { choices, page }: { readonly choices: Choices; readonly page: number },
): Promise<ConsentThings | undefined> => {
  const chosen = chosenOf(choices, kind.kind)
  const ids = chosen && idsOfPage(context, chosen, page)
  if (chosen === undefined || ids === undefined || (chosen !== 'all' && ids.length === 0 && page > 1))
    return undefined
  const shown = { kind: kind.kind, name: thingsName(kind, context.language), mayAll: chosen === 'all' }
  if (chosen !== 'all') {
    const items = (await findThings(kind, about, ids)).map((thing) => ({ ...thing, checked: true }))
    return { ...shown, mode: 'these', items }
  }
  const { things, next, total } = await listThings(kind, about, { limit: sizeOf(context) })
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
  const page = pageIn(context, choices, query)
  const things: ConsentThings[] = []
  for (const kind of server.options.choices) {
    const shown = await thingsOf(kind, about, context, { choices, page: page.number })
    if (shown) things.push(shown)
  }
  const names = organization === undefined ? undefined : await organizationNames(context, person.user)
  const { action, hidden } = context.form(
    { ...clientParameters(client), page: String(page.number) },
    'narrow',
  )
  context.send('narrow-client', {
    action,
    hidden: { ...hidden, [markedThings]: marksOfPage(context, choices, page.number) },
    ...pageLinks(server, accessPath, page, clientParameters(client)),
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

/** The narrowing that a form asks for: what was on its page and is no longer ticked goes. */
const narrowingOf = async (
  { server }: Context,
  about: ThingsContext,
  client: ConnectedClient,
  form: Parameters,
): Promise<Narrowing> => {
  const shown = new Set(form.optional(markedThings)?.split(' '))
  const scopes = removableScopes(client).filter((scope) => !form.has(`scope:${scope}`))
  const choices: Record<string, Choices[string]> = {}
  for (const kind of server.options.choices) {
    const chosen = chosenOf(client.choices ?? {}, kind.kind)
    if (chosen === undefined || (chosen === 'all' && form.optional(`choice:${kind.kind}`) !== 'these'))
      continue
    const ticked = tickedIds(form, `thing:${kind.kind}:`).slice(0, mostChosen)
    const found = (await findThings(kind, about, ticked)).map(({ id }) => id)
    const stays = (id: string): boolean => !shown.has(markOf(`${kind.kind}:${id}`)) || found.includes(id)
    choices[kind.kind] = chosen === 'all' ? found : chosen.filter(stays)
  }
  const ends = earlierEnds(server.now(), client.end)
  const duration = ends.find((each) => each === form.optional('duration'))
  return { scopes, choices, ...(duration && { until: server.now() + durations[duration] }) }
}

/** The page as it was when the user pressed Save, and what is left: of all things those that still exist. */
const receiptOf = async (
  context: Context,
  about: AboutClient,
  connected: ConnectedClient,
  narrowing: Narrowing,
): Promise<ConsentReceipt> => {
  const { server, language, person } = context
  const { name, host, organization, longest } = connected
  const scopes = removableScopes(connected).map((scope): ReceiptScope => {
    const { description: text, details, language: own, group } = scopeWords(server, scope, language, longest)
    const allowed = !narrowing.scopes.includes(scope)
    const meaning = meaningOf(server, about.client, scope)
    return { name: scope, text, details, language: own, group, optional: true, allowed, meaning }
  })
  const left = limitedTo(connected.choices ?? {}, narrowing.choices)
  const things: ReceiptThings[] = []
  for (const kind of server.options.choices) {
    const ids = chosenOf(left, kind.kind)
    if (ids === undefined) continue
    const found = ids === 'all' ? ids : await findThings(kind, about, ids.slice(0, mostChosen))
    const chosen = found === 'all' ? found : found.map(({ id, name: called }) => ({ id, name: called }))
    things.push({ kind: kind.kind, name: thingsName(kind, language), chosen })
  }
  const names = organization === undefined ? undefined : await organizationNames(context, person.user)
  return {
    locale: language,
    product: server.options.pages.name,
    client: { name, host },
    scopes,
    claims: [],
    ...(organization !== undefined && {
      organization: { id: organization, name: names?.get(organization) ?? organization },
    }),
    ...(things.length > 0 && { things }),
    ...(narrowing.until !== undefined && { until: narrowing.until }),
  }
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
      const receipt = await receiptOf(context, about, client, narrowing)
      for (const clientId of await sameClientsAs(server, person.id, client.clientId)) {
        const connection = { subject: person.id, clientId, organization: client.organization }
        await narrowClient(server, connection, narrowing, { info, receipt })
      }
      const page = form.optional('page')
      return { query: { ...clientParameters(client), ...(page && { page }) }, notice: { kind: 'saved' } }
    },
  },
})
