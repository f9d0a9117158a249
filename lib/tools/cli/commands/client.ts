import { clientAdministration } from '../../../oauth/clients/administration.ts'
import type { ClientCredentials, ClientRegistration } from '../../../oauth/clients/register.ts'
import type { ClientChanges } from '../../../protocol/clients/client-metadata.ts'
import { parseJsonObject } from '../../../protocol/json.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { print, printNote, readSecret, table } from '../terminal.ts'

/** Prints a client's id and its new secret, if it has one. */
export const printCredentials = (
  { client_id, client_secret }: ClientCredentials,
  invocation: Invocation,
): void => {
  const credentials = { client_id, ...(client_secret !== undefined && { client_secret }) }
  print(...(invocation.flag('json') ? [JSON.stringify(credentials)] : table(Object.entries(credentials))))
  if (client_secret !== undefined)
    printNote('Store the secret now: only its hash is kept, so it is not shown again.')
}

const metadataOptions: Command['options'] = {
  name: { value: 'NAME', help: 'the name on the consent page' },
  'redirect-uri': { multiple: true, value: 'URI', help: 'where users return after the login' },
  'grant-type': { multiple: true, value: 'TYPE', help: 'instead of authorization_code and refresh_token' },
  scope: {
    multiple: true,
    value: 'SCOPES',
    help: 'the scopes it may request; the standard scopes by default',
  },
  'first-party': { help: 'your own client: no consent page' },
  metadata: { value: 'JSON', help: 'any client metadata (RFC 7591) as a JSON object' },
}

const parsedMetadata = (invocation: Invocation): object => {
  const given = invocation.text('metadata')
  if (given === undefined) return {}
  const metadata = parseJsonObject(given)
  if (metadata !== undefined) return metadata
  throw new UsageError('--metadata must be a JSON object, such as {"client_uri":"https://shop.example.com"}')
}

const assertMetadata = (invocation: Invocation): void => void parsedMetadata(invocation)

/** Clients that send users somewhere need the address, by default. */
const assertRedirectUri = (invocation: Invocation): void => {
  const metadata = metadataOf(invocation)
  if ('redirect_uris' in metadata) return
  const types: unknown = 'grant_types' in metadata ? metadata.grant_types : undefined
  if (Array.isArray(types) && !types.some((type) => type === 'authorization_code' || type === 'implicit'))
    return
  throw new UsageError(
    'client create needs --redirect-uri, or --grant-type client_credentials for a client without users; see: latchkey client create --help',
  )
}

// Registration checks the values and their types.
const metadataOf = (invocation: Invocation): object => {
  const named = {
    client_name: invocation.text('name'),
    redirect_uris: invocation.texts('redirect-uri'),
    grant_types: invocation.texts('grant-type'),
    scope: invocation.texts('scope')?.join(' '),
    first_party: invocation.flag('first-party') || undefined,
  }
  const given = Object.entries(named).filter(([, value]) => value !== undefined)
  return { ...parsedMetadata(invocation), ...Object.fromEntries(given) }
}

/** `latchkey client create` */
export const createClientCommand: Command = {
  name: 'client create',
  summary: 'registers a client and prints its id and secret',
  usage: '--redirect-uri URI',
  details:
    'A client with a server of its own gets a secret, which is printed once.\n' +
    'A client that runs on its user’s device cannot keep a secret: use --public.',
  options: {
    id: { value: 'ID', help: 'its client_id; a random UUID by default' },
    public: { help: 'it cannot keep a secret and must use PKCE' },
    ...metadataOptions,
    'secret-from-stdin': { help: 'read its secret from standard input: at least 32 characters' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey client create --name Shop --redirect-uri https://shop.example.com/callback',
  check: assertRedirectUri,
  async run(context, invocation) {
    const registration: ClientRegistration = {
      ...metadataOf(invocation),
      ...(invocation.flag('public') && { token_endpoint_auth_method: 'none' as const }),
      client_id: invocation.text('id'),
      client_secret: invocation.flag('secret-from-stdin') ? await readSecret('Client secret: ') : undefined,
    }
    printCredentials(await clientAdministration(context).create(registration), invocation)
  },
}

/** `latchkey client update` */
export const updateClientCommand: Command = {
  name: 'client update',
  summary: 'changes the metadata of a client',
  arguments: ['ID'],
  details:
    'Fields that you do not name keep their values. An option that may be repeated replaces the whole list.\n' +
    'In --metadata, null removes a field. A client that is also in a seed gets the metadata of the seed\n' +
    'when that runs again.',
  options: { ...metadataOptions, json: { help: 'print JSON' } },
  example: `latchkey client update shop --name "Shop 2" --metadata '{"policy_uri":null}'`,
  check: assertMetadata,
  async run(context, invocation) {
    const [clientId = ''] = invocation.arguments
    const changes: ClientChanges = metadataOf(invocation)
    if (Object.keys(changes).length === 0) {
      throw new UsageError(
        'client update needs an option that says what to change; see: latchkey client update --help',
      )
    }
    printCredentials(await clientAdministration(context).update(clientId, changes), invocation)
  },
}
