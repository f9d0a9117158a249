import { randomUUID } from 'node:crypto'
import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { askedKinds } from '../../protocol/choices.ts'
import { allowedScopes, clientName, usesSecret } from '../../protocol/clients/client.ts'
import { parseClientMetadata } from '../../protocol/clients/client-metadata.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import {
  type FormThings,
  maxThingsForm,
  pickerActs,
  thingsChosen,
  thingsOnForm,
} from '../../web/endpoints/choices/picker.ts'
import {
  type OrganizationAdministrator,
  type OrganizationPage,
  organizationUrl,
} from '../../web/endpoints/organization-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import { redirectToPage } from '../../web/http/redirect.ts'
import { changeAccount, createAccount } from './accounts.ts'
import type { AccountFormError } from './declarations.ts'
import type { ServiceAccountOption } from './option.ts'
import {
  type AccountPageContext,
  about,
  accountField,
  accountPath,
  accountsPath,
  accountUrl,
  changeBy,
  changerOf,
  editPath,
  findOwnAccount,
  newPath,
  type OwnAccount,
  section,
  toAccount,
} from './page.ts'
import { type AccountFields, offeredDays, parseAccountName, parsePastedKey, secondsOfDay } from './rules.ts'

/** Characters that are read of a name, and of a key. */
const maxTyped = { name: 300, key: 16_384 }
/** The value of `days` for the end that an account has. */
const keep = 'keep'

/** Stands for the client of an account that does not exist yet. */
const newClient = parseClientMetadata({ grant_types: ['client_credentials'] })

/** The subject of a form: an account, or a new one with its future id. */
interface Subject {
  readonly clientId: string
  readonly own?: OwnAccount | undefined
}

/** The fields of the form as they were typed. */
interface Typed {
  readonly name: string
  readonly scopes: readonly string[]
  readonly days: string
  readonly method: string
  readonly key: string
}

const typedIn = (form: Parameters, { scopes }: ServiceAccountOption): Typed => ({
  name: form.verbatim('name', maxTyped.name) ?? '',
  scopes: scopes.filter((scope) => form.has(`scope:${scope}`)),
  days: form.optional('days') ?? '',
  method: form.optional('method') ?? 'secret',
  key: form.verbatim('key', maxTyped.key)?.trim() ?? '',
})

const typedOf = ({ own }: Subject, option: ServiceAccountOption): Typed => {
  const first = { method: 'secret', key: '' }
  if (own === undefined) return { ...first, name: '', scopes: [], days: String(offeredDays(option)[0]) }
  const { client } = own
  const [jwk] = client.metadata.jwks?.keys ?? []
  return {
    ...first,
    name: clientName(client),
    scopes: allowedScopes(client),
    days: keep,
    ...(jwk && { key: JSON.stringify(jwk) }),
  }
}

const thingsOf = (
  { server, person }: AccountPageContext,
  { scopes }: ServiceAccountOption,
  { clientId, own }: Subject,
): FormThings => {
  const organization = person.organization.id
  return {
    kinds: askedKinds(server.options.choices, scopes),
    about: { user: person.user, client: own?.client ?? { clientId, metadata: newClient }, organization },
    fields: about({ organization, clientId }),
  }
}

const showForm = async (
  context: AccountPageContext,
  option: ServiceAccountOption,
  subject: Subject,
  { form, error }: { readonly form?: Parameters; readonly error?: AccountFormError | undefined } = {},
): Promise<void> => {
  const { server, language, person } = context
  const { own, clientId } = subject
  const typed = form ? typedIn(form, option) : typedOf(subject, option)
  const named = { organization: person.organization.id, clientId }
  const { things, hidden } = await thingsOnForm(context, thingsOf(context, option, subject), {
    form,
    remembered: own?.owner.choices,
  })
  const page = context.form(about(named), things ? undefined : 'save')
  const now = server.now()
  const hasKey = own && !usesSecret(own.client.metadata)
  const model = {
    ...page,
    hidden: { ...page.hidden, ...hidden },
    name: typed.name,
    scopes: option.scopes.map((name) => ({
      ...scopeWords(server, name, language),
      name,
      isHighRisk: server.options.scopes[name]?.risk === 'high',
      checked: typed.scopes.includes(name),
    })),
    things,
    days: offeredDays(option).map((days) => ({
      days,
      until: iso(now + days * secondsOfDay),
      isChosen: String(days) === typed.days,
    })),
    ...(own
      ? { account: { name: clientName(own.client, language), until: iso(own.owner.until) } }
      : { method: typed.method === 'key' ? ('key' as const) : ('secret' as const) }),
    ...((own === undefined || hasKey) && { key: typed.key }),
    ...(error && { error }),
    cancelUrl: own
      ? accountUrl(server, accountPath, named)
      : organizationUrl(server, accountsPath, named.organization),
  }
  context.send('service-account-form', model, error ? { status: 400 } : {})
}

/** The time when an account ends, as the form says; undefined if it says nothing that is offered. */
const untilOf = (
  typed: Typed,
  option: ServiceAccountOption,
  { own }: Subject,
  now: number,
): number | undefined => {
  if (own && typed.days === keep) return own.owner.until
  const days = offeredDays(option).find((each) => String(each) === typed.days)
  return days === undefined ? undefined : now + days * secondsOfDay
}

/** The content of the form, or the first mistake in it. */
const readForm = async (
  context: AccountPageContext,
  option: ServiceAccountOption,
  subject: Subject,
  form: Parameters,
): Promise<
  | { readonly fields: AccountFields; readonly jwks: ReturnType<typeof parsePastedKey> }
  | { readonly error: AccountFormError; readonly form: Parameters }
> => {
  const typed = typedIn(form, option)
  const name = parseAccountName(typed.name)
  if (name === undefined) return { error: 'name', form }
  if (typed.scopes.length === 0) return { error: 'scopes', form }
  const { scopes } = typed
  const things = await thingsChosen(context, thingsOf(context, option, subject), form, scopes)
  if ('error' in things) return { error: things.error === 'lost' ? 'lost' : 'things', form: things.form }
  const until = untilOf(typed, option, subject, context.server.now())
  if (until === undefined) return { error: 'days', form }
  const hasKey = subject.own ? !usesSecret(subject.own.client.metadata) : typed.method === 'key'
  const jwks = hasKey ? parsePastedKey(typed.key) : undefined
  if (hasKey && jwks === undefined) return { error: 'key', form }
  return { fields: { name, scopes, choices: things.choices ?? {}, until }, jwks }
}

const isNew = (before: OwnAccount, jwks: ReturnType<typeof parsePastedKey>): boolean =>
  JSON.stringify(before.client.metadata.jwks) !== JSON.stringify(jwks)

const formPage = (
  option: ServiceAccountOption,
  path: string,
  subjectOf: (context: AccountPageContext, parameters: Parameters) => Promise<Subject>,
  save: (
    context: AccountPageContext,
    subject: Subject,
    read: { readonly fields: AccountFields; readonly jwks: ReturnType<typeof parsePastedKey> },
  ) => Promise<ActResult | undefined>,
): OrganizationPage => ({
  path,
  section,
  fields: [accountField],
  maxForm: maxThingsForm,
  show: async (context, query) => showForm(context, option, await subjectOf(context, query)),
  acts: {
    async save(context, form) {
      const subject = await subjectOf(context, form)
      const read = await readForm(context, option, subject, form)
      if ('fields' in read) return save(context, subject, read)
      await showForm(context, option, subject, read)
      return undefined
    },
    ...pickerActs<OrganizationAdministrator>({
      asks: async (context, form) => thingsOf(context, option, await subjectOf(context, form)),
      show: async (context, form, error) =>
        showForm(context, option, await subjectOf(context, form), { form, error }),
    }),
  },
})

const isUuid = (value: string | undefined): value is string =>
  value !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)

/** The form of a new account. The id that the account will have is in the form, so that it can be sent only once. */
export const newAccountPage = (option: ServiceAccountOption): OrganizationPage =>
  formPage(
    option,
    newPath,
    async ({ req }, parameters) => {
      const given = req.method === 'POST' ? parameters.optional(accountField) : undefined
      return { clientId: isUuid(given) ? given : randomUUID() }
    },
    async (context, { clientId }, { fields, jwks }) => {
      const { person, server } = context
      const named = { organization: person.organization.id, clientId }
      const account = { ...fields, ...named, jwks }
      const made = await createAccount(await changeBy(context, option), account, changerOf(context))
      if (made === 'signed-out') return { query: { organization: named.organization } }
      // The list says that there are enough.
      if (made === 'full') return { path: accountsPath, query: { organization: named.organization } }
      if (made !== 'exists') return toAccount(named, 'created', made.secret)
      // The first of two equal requests has left the secret for the page.
      redirectToPage(context, accountUrl(server, accountPath, named))
      return undefined
    },
  )

/** The form of an account that exists. */
export const editAccountPage = (option: ServiceAccountOption): OrganizationPage =>
  formPage(
    option,
    editPath,
    async (context, parameters) => {
      const own = await findOwnAccount(context, parameters)
      return { clientId: own.client.clientId, own }
    },
    async (context, { clientId, own }, { fields, jwks }) => {
      const named = { organization: context.person.organization.id, clientId }
      const change = { ...fields, ...(own && jwks && isNew(own, jwks) && { jwks }) }
      const changed = await changeAccount(await changeBy(context, option), named, change, changerOf(context))
      return changed === 'signed-out' ? { query: about(named) } : toAccount(named, 'saved')
    },
  )
