import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { clientAuthMethodsOf } from '../../oauth/client-authentication/index.ts'
import type { RegisteredClient } from '../../oauth/clients/administration.ts'
import {
  type ClientFieldChoices,
  type ClientFieldNames,
  type TypedClient,
  typedAs,
} from '../../oauth/clients/client-form.ts'
import { grantsOf } from '../../oauth/grants/index.ts'
import { knownScopes } from '../../options/scopes.ts'
import { seedDefaults } from '../../protocol/clients/client-metadata.ts'
import type { OperatorContext } from '../../web/endpoints/operator-page.ts'
import type { ClientForm, ClientFormField } from '../../web/pages/client-form-models.ts'
import type { ClientFormParts } from './models.ts'

/** The parts of the form, with their fields. */
const parts = [
  { kind: 'basics', names: ['client_id', 'client_name', 'redirect_uris', 'first_party'] },
  {
    kind: 'sign-in',
    names: [
      'grant_types',
      'token_endpoint_auth_method',
      'jwks_uri',
      'require_pkce',
      'post_logout_redirect_uris',
    ],
  },
  { kind: 'permissions', names: ['scope'] },
  { kind: 'links', names: ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'contacts'] },
  { kind: 'advanced', names: ['other'] },
] as const satisfies readonly { readonly kind: string; readonly names: ClientFieldNames }[]

/** The fields of a new client. */
export const newFields: ClientFieldNames = parts.flatMap(({ names }): ClientFieldNames => names)

/** The fields of a registered client. */
export const editFields: ClientFieldNames = newFields.filter((name) => name !== 'client_id')

/** Contents of the form for a new client. */
export const usualClient: TypedClient = {
  ...typedAs({ grant_types: seedDefaults.grant_types }, newFields),
  other: '',
}

/** Whether JSON has no member that registration does not set by itself. */
const hasOnlyDefaults = (json: string): boolean => {
  try {
    const defaults: Readonly<Record<string, unknown>> = seedDefaults
    const members = Object.entries(JSON.parse(json.trim() || '{}'))
    return members.every(([name, value]) => JSON.stringify(value) === JSON.stringify(defaults[name]))
  } catch {
    return false
  }
}

/** Whether a field says no more than that of a new client. */
const isUsual = ({ name, value }: ClientFormField): boolean =>
  name === 'other' ? hasOnlyDefaults(value) : value === usualClient[name as keyof TypedClient]

/** A form with its scopes in the words of the consent page. */
export const withScopesInWords = (
  { server }: OperatorContext,
  { inputs, ...form }: ClientForm,
): ClientForm => ({
  ...form,
  inputs: inputs.map((field) => {
    if (field.name !== 'scope') return field
    const words = (value: string) => scopeWords(server, value, 'en').description
    return {
      ...field,
      choices: field.choices?.map((choice) => ({ ...choice, words: words(choice.value) })),
    }
  }),
})

/** The form in parts. A part is open if a field of it is wrong, or says something of its own; the basics always are. */
export const inParts = ({ inputs, ...form }: ClientForm): ClientFormParts => ({
  ...form,
  parts: parts.map(({ kind, names }) => {
    const own = inputs.filter(({ name }) => names.some((each) => each === name))
    const isOpen = kind === 'basics' || own.some((field) => field.error !== undefined || !isUsual(field))
    return { kind, inputs: own, isOpen }
  }),
})

/** The grants and scopes that a client may register: those that are turned on, and those that it has already. */
export const choicesFor = (
  { server }: OperatorContext,
  { grant_types = [], scope }: Partial<Pick<RegisteredClient, 'grant_types' | 'scope'>> = {},
): ClientFieldChoices => ({
  token_endpoint_auth_method: ['', ...clientAuthMethodsOf(server).map(({ name }) => name)],
  grant_types: [
    ...new Set([
      ...grantsOf(server).map(({ grantType }) => grantType),
      ...(server.options.protocol.implicit ? ['implicit'] : []),
      ...grant_types,
    ]),
  ],
  scope: [...new Set([...knownScopes(server.options), ...(scope?.split(' ') ?? [])])],
})
