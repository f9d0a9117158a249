import {
  type ClientFieldNames,
  clientForm,
  clientOfForm,
  isFormError,
  maxClientForm,
  type TypedClient,
  typedAs,
  typedClient,
} from '../../clients/client-form.ts'
import type { Endpoint } from '../../http/route.ts'
import { redirectToPage } from '../../http/send.ts'
import { ownPath } from '../../http/urls.ts'
import { clientName } from '../../protocol/clients/client.ts'
import type { OAuthError } from '../../protocol/errors.ts'
import type { Parameters } from '../../protocol/parameters.ts'
import { namedClient, showResult } from './client-page.ts'
import {
  type DeveloperPage,
  type DeveloperPageContext,
  developerFormFields,
  developerUrl,
  findOwnClient,
  type OwnClient,
  type SignedInDeveloper,
  showDeveloperPage,
  submitDeveloperForm,
} from './page.ts'
import { changeDeveloperClient, type DeveloperContext, registerDeveloperClient } from './register.ts'
import { type DeveloperFields, developerFields } from './rules.ts'

const fieldNames: ClientFieldNames = [
  'client_name',
  'redirect_uris',
  'scopes',
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
]
/** Whether a client can keep a secret is said once. */
const newFieldNames: ClientFieldNames = ['client_name', 'token_endpoint_auth_method', ...fieldNames.slice(1)]

/** The hidden field with the revision that the form shows. */
const revisionField = 'revision'

const newForm: DeveloperPage = { path: '/developer/new', needsRecentLogin: true }
const editForm = (clientId: string): DeveloperPage => ({
  path: '/developer/edit',
  clientId,
  needsRecentLogin: true,
})

const choicesOf = ({ option }: DeveloperPageContext) => ({
  token_endpoint_auth_method: ['', 'none'],
  scopes: option.scopes,
})

const registry = ({ server, option }: DeveloperPageContext): DeveloperContext => ({ ...server, option })

/** What a form says, for registration, which checks it. */
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

const showNew = (context: DeveloperPageContext, developer: SignedInDeveloper, refused?: Refusal): void => {
  const typed = refused?.typed ?? { scopes: 'openid' }
  const form = clientForm({ ...refused, names: newFieldNames, typed, choices: choicesOf(context) })
  const model = {
    action: developerUrl(context, newForm),
    hidden: developerFormFields(context, newForm, developer),
    form,
    needsApproval: developer.needsApproval,
    cancelUrl: ownPath(context.server, '/developer'),
  }
  context.send('developer-form', model, refused ? { status: 400 } : {})
}

const create = async (
  context: DeveloperPageContext,
  developer: SignedInDeveloper,
  form: Parameters,
): Promise<void> => {
  const typed = typedClient(form, newFieldNames, choicesOf(context))
  try {
    const isPublic = typed.token_endpoint_auth_method === 'none'
    const created = await registerDeveloperClient(registry(context), developer, {
      fields: fieldsOf(typed),
      isPublic,
    })
    // The list says that there are enough.
    if (created === undefined) return redirectToPage(context.res, ownPath(context.server, '/developer'))
    const { client_id: clientId, client_secret: secret } = created
    const act = developer.needsApproval ? 'sent' : 'created'
    showResult(context, developer, clientId, { act, ...(secret !== undefined && { secret }) })
  } catch (error) {
    if (!isFormError(error)) throw error
    showNew(context, developer, { typed, error })
  }
}

/** The client as its owner last described it, also if that waits for approval. */
const typedFrom = (context: DeveloperPageContext, { owner, client }: OwnClient): TypedClient => {
  const { scope, ...fields } = owner.proposed ?? developerFields(client.metadata, client.clientId)
  const offered = choicesOf(context).scopes
  return typedAs({ ...fields, scopes: scope.split(' ').filter((each) => offered.includes(each)) }, fieldNames)
}

const showEdit = (
  context: DeveloperPageContext,
  developer: SignedInDeveloper,
  own: OwnClient,
  refused?: Refusal,
): void => {
  const { owner, client } = own
  const { clientId } = client
  const page = editForm(clientId)
  const typed = refused?.typed ?? typedFrom(context, own)
  const form = clientForm({ ...refused, names: fieldNames, typed, choices: choicesOf(context) })
  const hidden = {
    ...developerFormFields(context, page, developer),
    [revisionField]: String(owner.revision),
  }
  const model = {
    action: developerUrl(context, page),
    hidden,
    form,
    client: { name: clientName(client, context.language) },
    needsApproval: developer.needsApproval,
    isApproved: owner.approvedAt !== null,
    ...(refused?.notice && { notice: refused.notice }),
    cancelUrl: developerUrl(context, { path: '/developer/client', clientId }),
  }
  context.send('developer-form', model, refused ? { status: refused.notice ? 409 : 400 } : {})
}

const change = async (
  context: DeveloperPageContext,
  developer: SignedInDeveloper,
  clientId: string,
  form: Parameters,
): Promise<void> => {
  await findOwnClient(context, developer, clientId)
  const typed = typedClient(form, fieldNames, choicesOf(context))
  const revision = Number(form.optional(revisionField))
  const showAgain = async (refused: Refusal): Promise<void> =>
    showEdit(context, developer, await findOwnClient(context, developer, clientId), refused)
  try {
    const outcome = await changeDeveloperClient(registry(context), developer, {
      clientId,
      revision,
      fields: fieldsOf(typed),
    })
    if (outcome === 'stale') return await showAgain({ typed, notice: 'stale' })
    showResult(context, developer, clientId, { act: outcome === 'waiting' ? 'sent' : 'saved' })
  } catch (error) {
    if (!isFormError(error)) throw error
    await showAgain({ typed, error })
  }
}

/** Registers a client. */
export const newPage: Endpoint<DeveloperPageContext> = {
  path: '/developer/new',
  maxForm: maxClientForm,
  methods: {
    GET: (context) => showDeveloperPage(context, newForm, (developer) => showNew(context, developer)),
    POST: (context) =>
      submitDeveloperForm(context, newForm, (developer, form) => create(context, developer, form)),
  },
}

/** Changes a client. */
export const editPage: Endpoint<DeveloperPageContext> = {
  path: '/developer/edit',
  maxForm: maxClientForm,
  methods: {
    GET: (context) => {
      const clientId = namedClient(context)
      return showDeveloperPage(context, editForm(clientId), async (developer) =>
        showEdit(context, developer, await findOwnClient(context, developer, clientId)),
      )
    },
    POST: (context) => {
      const clientId = namedClient(context)
      return submitDeveloperForm(context, editForm(clientId), (developer, form) =>
        change(context, developer, clientId, form),
      )
    },
  },
}
