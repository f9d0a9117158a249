import { randomUUID } from 'node:crypto'
import { prepareSchema } from '../authorization-server.ts'
import { clientName, isPublic } from '../protocol/client.ts'
import { type ClientRecord, findClient, listClients } from '../repositories/clients.ts'
import { type ClientSeed, seedClients } from '../seed.ts'
import type { Command, Invocation } from './command.ts'
import { heading, note, print, readSecret, table } from './terminal.ts'

const now = (): number => Math.floor(Date.now() / 1000)

const once = 'The secret is stored as a hash: it is not shown again.'

/** A client and its new secret, for a person or for a script. */
export const printCredentials = (credentials: Readonly<Record<string, string>>, asJson: boolean): void => {
  print(asJson ? JSON.stringify(credentials) : table(Object.entries(credentials)))
  if (credentials.client_secret !== undefined) note(once)
}

// The rules of seeds check the values, so what somebody typed is passed on as it is.
const seedOf = (invocation: Invocation, secret: string | undefined): ClientSeed => {
  const metadata = {
    client_name: invocation.text('name'),
    redirect_uris: invocation.texts('redirect-uri'),
    grant_types: invocation.texts('grant-type'),
    scope: invocation.texts('scope')?.join(' '),
    token_endpoint_auth_method: invocation.flag('public') ? 'none' : undefined,
    first_party: invocation.flag('first-party') || undefined,
  } as Partial<ClientSeed>
  return { ...metadata, client_id: invocation.text('id') ?? randomUUID(), client_secret: secret }
}

/** `latchkey client create` */
export const createClientCommand: Command = {
  name: 'client create',
  summary: 'registers a client and prints its id and secret',
  usage: '--redirect-uri URI',
  details:
    'A client with a server of its own gets a secret, shown once; one that runs on its user’s device is --public.',
  options: {
    id: { type: 'string', value: 'ID', help: 'its client_id; left out, one is made' },
    name: { type: 'string', value: 'NAME', help: 'what the consent page calls it' },
    'redirect-uri': { type: 'string', multiple: true, value: 'URI', help: 'where users come back to' },
    public: { type: 'boolean', help: 'it cannot keep a secret; PKCE is required of it' },
    'grant-type': {
      type: 'string',
      multiple: true,
      value: 'TYPE',
      help: 'instead of authorization_code and refresh_token',
    },
    scope: {
      type: 'string',
      multiple: true,
      value: 'SCOPES',
      help: 'what it may ask for; left out, the standard scopes',
    },
    'first-party': { type: 'boolean', help: 'it is your own: no consent page' },
    'secret-from-stdin': {
      type: 'boolean',
      help: 'read its secret from standard input: at least 32 characters',
    },
    json: { type: 'boolean', help: 'print JSON' },
  },
  example: 'latchkey client create --name Shop --redirect-uri https://shop.example.com/callback',
  async run({ database, hostKnex, options }, invocation) {
    const secret = invocation.flag('secret-from-stdin') ? await readSecret('Client secret: ') : undefined
    const seed = seedOf(invocation, secret)
    await prepareSchema(options, database)
    if (await findClient(database, { clientId: seed.client_id, now: now() })) {
      throw new Error(
        `client ${seed.client_id} is registered already; to change it, seed it with seedClients()`,
      )
    }
    const logger = { ...options.logger, info: () => {} }
    const { tablePrefix, scopes } = options
    const [client] = await seedClients(hostKnex, [seed], { tablePrefix, scopes, logger })
    printCredentials({ ...client }, invocation.flag('json'))
  },
}

const described = (client: ClientRecord): Record<string, unknown> => ({
  client_id: client.clientId,
  client_id_issued_at: client.createdAt,
  disabled: client.disabledAt !== null,
  ...client.metadata,
})

const headings = ['CLIENT ID', 'NAME', 'KIND', 'REDIRECT URIS']

const rowsOf = (client: ClientRecord): string[][] => {
  const kind = isPublic(client) ? 'public' : 'confidential'
  const [first = '', ...others] = client.metadata.redirect_uris
  return [
    [client.clientId, clientName(client), client.disabledAt === null ? kind : `${kind}, disabled`, first],
    ...others.map((uri) => ['', '', '', uri]),
  ]
}

/** `latchkey client list` */
export const listClientsCommand: Command = {
  name: 'client list',
  summary: 'shows the registered clients',
  options: { json: { type: 'boolean', help: 'print JSON, with all metadata' } },
  example: 'latchkey client list --json',
  async run({ database, options }, invocation) {
    await prepareSchema(options, database)
    const clients = await listClients(database, { now: now() })
    if (invocation.flag('json')) return print(JSON.stringify(clients.map(described), null, 2))
    if (clients.length === 0) return note('there are no clients yet; see: latchkey client create --help')
    const [title = '', ...lines] = table([headings, ...clients.flatMap(rowsOf)]).split('\n')
    print([heading(title), ...lines].join('\n'))
  },
}
