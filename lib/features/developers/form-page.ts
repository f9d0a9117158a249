import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import {
  type ClientFieldNames,
  clientForm,
  clientOfForm,
  submitClientForm,
  type TypedClient,
  typedAs,
} from '../../oauth/clients/client-form.ts'
import { clientName } from '../../protocol/clients/client.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import { sizes } from '../../protocol/lengths.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { clientParameter } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { ownPath } from '../../web/http/urls.ts'
import { toClient } from './client-page.ts'
import { type Mistake, mistakesOf } from './mistakes.ts'
import type { DeveloperOption } from './option.ts'
import {
  clientPath,
  type DeveloperPageContext,
  developerPage,
  findOwnClient,
  listPath,
  type OwnClient,
  recent,
} from './page.ts'
import { changeDeveloperClient, changedMetadata, checkedNew, registerDeveloperClient } from './register.ts'
import { type DeveloperFields, developerFields } from './rules.ts'

const fieldNames: ClientFieldNames = [
  'client_name',
  'client_uri',
  'redirect_uris',
  'scopes',
  'logo_uri',
  'policy_uri',
  'tos_uri',
]
/** Whether a client can keep a secret is asked only when it is new. */
const newFieldNames: ClientFieldNames = [
  ...fieldNames.slice(0, 3),
  'token_endpoint_auth_method',
  ...fieldNames.slice(3),
]

/** The hidden field with the revision that the form shows. */
const revisionField = 'revision'

const choicesOf = ({ scopes }: DeveloperOption) => ({ token_endpoint_auth_method: ['', 'none'], scopes })

/** The metadata in a form, for registration, which checks it. */
const fieldsOf = (typed: TypedClient): DeveloperFields => {
  const members: Readonly<Record<string, unknown>> = clientOfForm(typed, fieldNames)
  const { scopes, ...said } = members
  return { ...said, scope: [scopes ?? []].flat().join(' ') } as unknown as DeveloperFields
}

interface Refusal {
  readonly typed: TypedClient
  readonly error?: OAuthError
  readonly notice?: 'stale'
}

/** The mistakes in a refused form. */
const mistakesIn = (
  names: ClientFieldNames,
  { scopes }: DeveloperOption,
  refused: Refusal | undefined,
  check: (fields: DeveloperFields) => unknown,
): readonly Mistake[] => {
  if (refused?.error === undefined) return []
  const { typed, error } = refused
  return mistakesOf({ names, typed, fields: fieldsOf(typed), scopes, check }, error)
}

/** Everything that the form shows beside its fields. */
const shownBeside = (
  { server, language }: DeveloperPageContext,
  { scopes }: DeveloperOption,
  mistakes: readonly Mistake[],
) => ({
  scopes: scopes.map((name) => ({ ...scopeWords(server, name, language), name })),
  mistakes,
})

const showNew = (context: DeveloperPageContext, option: DeveloperOption, refused?: Refusal): void => {
  const typed = refused?.typed ?? { scopes: 'openid' }
  const form = clientForm({ ...refused, names: newFieldNames, typed, choices: choicesOf(option) })
  const isPublic = typed.token_endpoint_auth_method === 'none'
  const check = (fields: DeveloperFields) => checkedNew({ ...context.server, option }, { fields, isPublic })
  const model = {
    ...context.form({}, 'create'),
    form,
    ...shownBeside(context, option, mistakesIn(newFieldNames, option, refused, check)),
    needsApproval: context.person.needsApproval,
    cancelUrl: ownPath(context.server, listPath),
  }
  context.send('developer-form', model, refused ? { status: 400 } : {})
}

/** Registers a client. */
export const newPage = (option: DeveloperOption): Endpoint<PageContext> =>
  developerPage(option, {
    path: '/developer/new',
    maxForm: sizes.form,
    recent,
    show: (context) => showNew(context, option),
    acts: {
      create(context, form) {
        const { server, person } = context
        const register = async (typed: TypedClient): Promise<ActResult> => {
          const isPublic = typed.token_endpoint_auth_method === 'none'
          const created = { fields: fieldsOf(typed), isPublic }
          const client = await registerDeveloperClient({ ...server, option }, person, created)
          if (client === 'signed-out') return {}
          // The list says that there are enough.
          if (client === 'full') return { path: listPath }
          return toClient(client.client_id, person.needsApproval ? 'sent' : 'created', client.client_secret)
        }
        const read = { names: newFieldNames, choices: choicesOf(option) }
        return submitClientForm(form, read, register, (refused) => showNew(context, option, refused))
      },
    },
  })

/** The client as its owner last described it, also if that waits for approval. */
const typedFrom = ({ owner, client }: OwnClient, offered: readonly string[]): TypedClient => {
  const { scope, ...fields } = owner.proposed ?? developerFields(client.metadata, client.clientId)
  return typedAs({ ...fields, scopes: scope.split(' ').filter((each) => offered.includes(each)) }, fieldNames)
}

const showEdit = async (
  context: DeveloperPageContext,
  option: DeveloperOption,
  parameters: Parameters,
  refused?: Refusal,
): Promise<void> => {
  const own = await findOwnClient(context, parameters)
  const { owner, client } = own
  const about = clientParameter(client.clientId)
  const { action, hidden } = context.form(about, 'save')
  const typed = refused?.typed ?? typedFrom(own, option.scopes)
  const form = clientForm({ ...refused, names: fieldNames, typed, choices: choicesOf(option) })
  const check = (fields: DeveloperFields) =>
    changedMetadata({ ...context.server, option }, client.metadata, fields)
  const model = {
    action,
    hidden: { ...hidden, [revisionField]: String(owner.revision) },
    form,
    ...shownBeside(context, option, mistakesIn(fieldNames, option, refused, check)),
    client: { name: clientName(client, context.language) },
    needsApproval: context.person.needsApproval,
    isApproved: owner.approvedAt !== null,
    ...(refused?.notice && { notice: refused.notice }),
    cancelUrl: ownPath(context.server, clientPath, about),
  }
  context.send('developer-form', model, refused ? { status: refused.notice ? 409 : 400 } : {})
}

/** Changes a client. */
export const editPage = (option: DeveloperOption): Endpoint<PageContext> =>
  developerPage(option, {
    path: '/developer/edit',
    fields: ['client_id'],
    maxForm: sizes.form,
    recent,
    show: (context, query) => showEdit(context, option, query),
    acts: {
      async save(context, form) {
        const { server, person } = context
        const { clientId } = (await findOwnClient(context, form)).client
        const revision = Number(form.optional(revisionField))
        const change = async (typed: TypedClient): Promise<ActResult | undefined> => {
          const changed = { clientId, revision, fields: fieldsOf(typed) }
          const outcome = await changeDeveloperClient({ ...server, option }, person, changed)
          if (outcome === 'signed-out') return { query: clientParameter(clientId) }
          if (outcome !== 'stale') return toClient(clientId, outcome === 'waiting' ? 'sent' : 'saved')
          await showEdit(context, option, form, { typed, notice: 'stale' })
          return undefined
        }
        const read = { names: fieldNames, choices: choicesOf(option) }
        return submitClientForm(form, read, change, (refused) => showEdit(context, option, form, refused))
      },
    },
  })
