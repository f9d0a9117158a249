import { ownershipsIn } from '../../../oauth/clients/client-data.ts'
import type { ClientRecord } from '../../../storage/repositories/index.ts'
import type { OperatorContext } from '../../../web/endpoints/operator-page.ts'
import { iso } from '../../../web/endpoints/page-values.ts'
import type { Trouble } from './troubles.ts'

/** More people than these need not get a letter. */
const maxAddresses = 3

/** Cuts texts of strangers, so that every mail program opens the link. */
const maxQuoted = 300

/** Contacts are free text: only what is an address and nothing else becomes one. */
const isAddress = (text: unknown): text is string => {
  if (typeof text !== 'string' || text.length > 254) return false
  const [name = '', host = '', ...more] = text.split('@')
  if (more.length > 0 || !/^[\w.!#$%&'*+/=^`{|}~-]+$/.test(name)) return false
  return host.split('.').every((label) => /^[\w-]+$/.test(label))
}

/** The address of the user who owns a client; undefined for a client of the host, or if the address is not confirmed. */
const addressOfOwner = async (
  { server }: OperatorContext,
  { clientId, metadata }: ClientRecord,
): Promise<string | undefined> => {
  const owners = await Promise.all(
    ownershipsIn(server.installed).map(({ ownerOf }) => ownerOf(server.database, clientId)),
  )
  const subject = owners.find((owner) => owner !== undefined)
  const user = subject === undefined ? undefined : await server.users.find(subject)
  if (user === undefined) return undefined
  const asked = { client: { client_id: clientId, ...metadata }, scopes: ['email'], for: 'userinfo' } as const
  const { email, email_verified: isConfirmed } = await server.users.claims(user, asked)
  return isConfirmed !== false && isAddress(email) ? email : undefined
}

const addressesOf = async (context: OperatorContext, client: ClientRecord): Promise<string[]> => {
  const contacts = (client.metadata.contacts ?? []).filter(isAddress).slice(0, maxAddresses)
  if (contacts.length > 0) return contacts
  const address = await addressOfOwner(context, client)
  return address === undefined ? [] : [address]
}

const quoted = (text: string): string => (text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text)

/** As {@link encodeURIComponent}, and with the apostrophe, which could end an attribute of a page. */
const encoded = (text: string): string => encodeURIComponent(text).replaceAll("'", '%27')

/**
 * A link that begins a letter to those who run a client (RFC 6068): to its contacts, or else to its owner.
 *
 * @returns undefined if no address is known, or if the client is not to blame
 */
export const letterAbout = async (
  context: OperatorContext,
  client: ClientRecord,
  { kind, since, reason, expected, received, errorId }: Trouble,
): Promise<string | undefined> => {
  if (kind === 'failed') return undefined
  const addresses = await addressesOf(context, client)
  if (addresses.length === 0) return undefined
  const product = context.server.options.pages.name
  const name = client.metadata.client_name ?? client.clientId
  const lines = [
    'Hello,',
    '',
    `since ${iso(since)} ${product} has refused requests of your app ${name} (client ID ${client.clientId}).`,
    '',
    `Reason: ${quoted(reason)}`,
    ...(received === undefined ? [] : [`Your app sent: ${quoted(received)}`]),
    ...(expected === undefined ? [] : [`${product} expected: ${quoted(expected)}`]),
    `Error ID of the newest one: ${errorId}`,
  ]
  const to = addresses.map((address) => encoded(address).replace('%40', '@')).join(',')
  const subject = encoded(`${product} refuses requests of ${name}`)
  return `mailto:${to}?subject=${subject}&body=${encoded(lines.join('\r\n'))}`
}
