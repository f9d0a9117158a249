import { clientAdministration } from '../../../oauth/clients/administration.ts'
import type { Command } from '../../command.ts'
import { secondsOption } from '../seconds.ts'
import { printNote } from '../terminal.ts'
import { printCredentials } from './client.ts'

/** `latchkey client rotate-secret` */
export const rotateSecretCommand: Command = {
  name: 'client rotate-secret',
  summary: 'creates a new secret for a client',
  arguments: ['ID'],
  details:
    'The current secret stays valid for a while, so that the client can switch over; an older one ends at once.\n' +
    'If a seed sets the secret, running the seed again restores it.',
  options: {
    keep: { value: 'SECONDS', help: 'how long the current secret stays valid; 86400 by default' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey client rotate-secret shop --keep 3600',
  check: (invocation) => void secondsOption(invocation, 'keep'),
  async run(context, invocation) {
    const [clientId = ''] = invocation.arguments
    const keepPreviousFor = secondsOption(invocation, 'keep')
    const rotated = await clientAdministration(context).rotateSecret(clientId, { keepPreviousFor })
    printCredentials(rotated, invocation)
    const expiry = new Date(rotated.previous_secret_expires_at * 1000).toISOString()
    printNote(`The previous secret is valid until ${expiry}.`)
  },
}
