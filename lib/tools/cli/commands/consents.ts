import type { Choices } from '../../../protocol/choices.ts'
import { isLive } from '../../../protocol/requests/authorization.ts'
import { parseEntry, shownEntries } from '../../../protocol/requests/consent.ts'
import { listAuthorizations, listConsents } from '../../../storage/repositories/index.ts'
import { disconnectClient } from '../../../users/account/disconnect-client.ts'
import type { Command } from '../../command.ts'
import { print, printJson, printNote, titledTable } from '../terminal.ts'

const day = (time: number): string => new Date(time * 1000).toISOString().slice(0, 10)

/** An entry of a consent as people read it, such as `files:read (https://files.example.com)`. */
const readable = (entry: string): string => {
  const { scope, claim, resource } = parseEntry(entry)
  const name = scope ?? (claim === undefined ? undefined : `claim ${claim}`)
  if (resource === undefined) return name ?? entry
  return name === undefined ? resource : `${name} (${resource})`
}

/** How many things of each kind were chosen. */
const shownChoices = (choices: Choices = {}): string =>
  Object.entries(choices)
    .map(([kind, chosen]) => `${kind}: ${chosen === 'all' ? chosen : chosen.length}`)
    .join(', ')

/** `latchkey consents list` */
export const listConsentsCommand: Command = {
  name: 'consents list',
  summary: 'lists what a user allows clients',
  arguments: ['SUBJECT'],
  details:
    'SUBJECT is the id of the user as `users` finds it, which clients see as `sub` unless it is pairwise.',
  options: { json: { help: 'print JSON' } },
  example: 'latchkey consents list 42',
  async run({ database, now }, invocation) {
    const [subject = ''] = invocation.arguments
    const authorizations = await listAuthorizations(database, { subject })
    const consents = (await listConsents(database, { subject })).map((consent) => ({
      ...consent,
      scopes: shownEntries(consent.scopes).map(readable),
      active: authorizations.filter(
        (one) =>
          one.clientId === consent.clientId &&
          one.details.organization === consent.organization &&
          isLive(one, now()),
      ).length,
    }))
    if (invocation.flag('json')) return printJson(consents)
    if (consents.length === 0) return printNote(`user ${subject} allows no client anything`)
    const hasThings = consents.some(({ choices }) => choices !== undefined)
    const rows = consents.map(({ clientId, organization, scopes, choices, createdAt, active }) => [
      clientId,
      organization ?? '',
      scopes.join(', '),
      ...(hasThings ? [shownChoices(choices)] : []),
      day(createdAt),
      String(active),
    ])
    const things = hasThings ? ['THINGS'] : []
    print(...titledTable([['CLIENT', 'ORGANIZATION', 'SCOPES', ...things, 'SINCE', 'ACTIVE'], ...rows]))
  },
}

/** `latchkey consents revoke` */
export const revokeConsentCommand: Command = {
  name: 'consents revoke',
  summary: 'removes the consent of a user to a client, and ends all its tokens for them',
  arguments: ['SUBJECT', 'CLIENT'],
  details: 'The same as “Remove” on the page Connected apps: the client has to ask again.',
  options: {
    organization: { value: 'ID', help: 'only in this organization' },
  },
  example: 'latchkey consents revoke 42 shop',
  async run(context, invocation) {
    const [subject = '', clientId = ''] = invocation.arguments
    const organization = invocation.text('organization')
    const connection = { subject, clientId, ...(organization !== undefined && { organization }) }
    if (!(await disconnectClient(context, connection))) {
      throw new Error(`user ${subject} allows client ${clientId} nothing`)
    }
    printNote(`client ${clientId} has no access for user ${subject} any more`)
  },
}
