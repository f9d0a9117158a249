import {
  type ClientAdministration,
  clientAdministration,
  type RegisteredClient,
} from '../../../oauth/clients/administration.ts'
import type { Command } from '../../command.ts'
import { print, printJson, printNote, table, titledTable } from '../terminal.ts'

const headings = ['CLIENT ID', 'NAME', 'KIND', 'REDIRECT URIS']

const rowsOf = (client: RegisteredClient): string[][] => {
  const kind = client.token_endpoint_auth_method === 'none' ? 'public' : 'confidential'
  const state = [
    kind,
    ...(client.self_described ? ['unverified'] : []),
    ...(client.owned_by ? [`of ${client.owned_by.id}`] : []),
    ...(client.disabled ? ['disabled'] : []),
  ].join(', ')
  const [first = '', ...others] = client.redirect_uris
  return [
    [client.client_id, client.client_name ?? client.client_id, state, first],
    ...others.map((uri) => ['', '', '', uri]),
  ]
}

const pageSize = 1000

const everyClient = async (clients: ClientAdministration): Promise<RegisteredClient[]> => {
  const found: RegisteredClient[] = []
  let page: RegisteredClient[]
  do {
    page = await clients.list({ limit: pageSize, after: found.at(-1)?.client_id })
    found.push(...page)
  } while (page.length === pageSize)
  return found
}

/** `latchkey client list` */
export const listClientsCommand: Command = {
  name: 'client list',
  summary: 'lists the registered clients',
  options: { json: { help: 'print JSON with all metadata' } },
  example: 'latchkey client list --json',
  async run(context, invocation) {
    const clients = await everyClient(clientAdministration(context))
    if (invocation.flag('json')) return printJson(clients)
    if (clients.length === 0)
      return printNote('no clients are registered; see: latchkey client create --help')
    print(...titledTable([headings, ...clients.flatMap(rowsOf)]))
  },
}

const shown = (value: unknown): string => {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(' ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `latchkey client show` */
export const showClientCommand: Command = {
  name: 'client show',
  summary: 'shows one client with all its metadata',
  arguments: ['ID'],
  options: { json: { help: 'print JSON' } },
  example: 'latchkey client show shop',
  async run(context, invocation) {
    const [clientId = ''] = invocation.arguments
    const client = await clientAdministration(context).get(clientId)
    if (client === undefined) throw new Error(`client ${clientId} is not registered`)
    if (invocation.flag('json')) return printJson(client)
    print(...table(Object.entries(client).map(([name, value]) => [name, shown(value)])))
  },
}
