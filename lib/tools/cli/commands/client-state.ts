import { clientAdministration } from '../../../oauth/clients/administration.ts'
import { type Command, UsageError } from '../../command.ts'
import { printNote } from '../terminal.ts'

/** `latchkey client disable` */
export const disableClientCommand: Command = {
  name: 'client disable',
  summary: 'disables a client and all its tokens at once',
  arguments: ['ID'],
  details: 'Nothing is deleted: `latchkey client enable` undoes it.',
  options: {},
  example: 'latchkey client disable shop',
  async run(context, { arguments: [clientId = ''] }) {
    await clientAdministration(context).disable(clientId)
    printNote(`client ${clientId} is disabled`)
  },
}

/** `latchkey client enable` */
export const enableClientCommand: Command = {
  name: 'client enable',
  summary: 'enables a disabled client',
  arguments: ['ID'],
  details: 'Its tokens and consents work again, except those that have expired.',
  options: {},
  example: 'latchkey client enable shop',
  async run(context, { arguments: [clientId = ''] }) {
    await clientAdministration(context).enable(clientId)
    printNote(`client ${clientId} is enabled`)
  },
}

/** `latchkey client delete` */
export const deleteClientCommand: Command = {
  name: 'client delete',
  summary: 'deletes a client with its consents and tokens',
  arguments: ['ID'],
  usage: '--yes',
  details:
    'Records of what users agreed to (consent receipts) stay. To keep everything, use `latchkey client disable`.',
  options: { yes: { help: 'confirm that the client, its consents and tokens are deleted' } },
  example: 'latchkey client delete shop --yes',
  check(invocation) {
    if (invocation.flag('yes')) return
    throw new UsageError(
      'client delete removes the client with its consents and tokens; to confirm, add --yes',
    )
  },
  async run(context, { arguments: [clientId = ''] }) {
    await clientAdministration(context).delete(clientId)
    printNote(`client ${clientId} is deleted`)
  },
}
