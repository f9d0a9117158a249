import { prepareSchema } from '../authorization-server.ts'
import { createSecret, hashSecret } from '../keys/secrets.ts'
import { findClient, rotateClientSecret } from '../repositories/clients.ts'
import { printCredentials } from './client.ts'
import { type Command, type Invocation, UsageError } from './command.ts'
import { note } from './terminal.ts'

const day = 86_400

const overlapOf = (invocation: Invocation): number => {
  const given = invocation.text('keep') ?? String(day)
  if (!/^\d{1,9}$/.test(given)) throw new UsageError('--keep must be a whole number of seconds')
  return Number(given)
}

/** `latchkey client rotate-secret` */
export const rotateSecretCommand: Command = {
  name: 'client rotate-secret',
  summary: 'gives a client a new secret',
  arguments: ['ID'],
  details:
    'The secret so far stays valid for a while, so that the client can change over; one before it ends at once.\n' +
    'A secret that a seed names comes back when the seed is run again.',
  options: {
    keep: {
      type: 'string',
      value: 'SECONDS',
      help: 'how long the secret so far stays valid; 86400 if not said',
    },
    json: { type: 'boolean', help: 'print JSON' },
  },
  example: 'latchkey client rotate-secret shop --keep 3600',
  check: overlapOf,
  async run({ database, options }, invocation) {
    const [clientId = ''] = invocation.arguments
    const now = Math.floor(Date.now() / 1000)
    await prepareSchema(options, database)
    const client = await findClient(database, { clientId, now })
    if (!client) throw new Error(`there is no client ${clientId}; see: latchkey client list`)
    const [current] = client.secretHashes
    if (current === undefined) throw new Error(`client ${clientId} has no secret`)
    const secret = createSecret('clientSecret')
    const currentExpiresAt = now + overlapOf(invocation)
    const rotation = { clientId, current, next: hashSecret(secret), currentExpiresAt, now }
    if (!(await rotateClientSecret(database, rotation))) {
      throw new Error(`client ${clientId} was changed at the same moment; its secret stays what it is now`)
    }
    printCredentials({ client_id: clientId, client_secret: secret }, invocation.flag('json'))
    note(`The secret so far is valid until ${new Date(currentExpiresAt * 1000).toISOString()}.`)
  },
}
