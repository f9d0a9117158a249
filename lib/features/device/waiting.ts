import { authenticationCode, hashSecret } from '../../keys/secrets.ts'
import type { Guesser } from '../../limits/guess.ts'
import { networkOf, siteOf } from '../../limits/network.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { Client } from '../../protocol/clients/client.ts'
import { findClient } from '../../storage/repositories/index.ts'
import type { DeviceCode } from './rules.ts'
import { deviceCodeGrantType } from './rules.ts'
import { findUndecidedDevice } from './table.ts'

/**
 * The limits that a wrong user code counts against.
 *
 * @param subject undefined if no user is signed in
 */
export const guesserOf = (address: string, subject: string | undefined): Guesser => ({
  everyone: [
    { name: 'userCodeAddress', key: networkOf(address) },
    { name: 'userCodeNetwork', key: siteOf(address) },
    { name: 'userCodeTotal', key: 'all' },
  ],
  user: { name: 'userCodeUser', key: subject && hashSecret(subject) },
})

/** The stored form of a user code. It is short, so it is hashed under a secret that is not in the database. */
export const userCodeHash = (secret: string, userCode: string): string =>
  authenticationCode(secret, 'user code', [userCode])

/** A device that waits for a decision, with its client. */
export interface WaitingDevice {
  readonly device: DeviceCode
  readonly client: Client
}

/**
 * The device that waits with a user code; undefined also if its client may no longer use the grant.
 *
 * @param userCode the eight letters
 */
export const findWaitingDevice = async (
  { database, options, ...server }: AuthorizationServer,
  userCode: string,
): Promise<WaitingDevice | undefined> => {
  const now = server.now()
  // The secret may have been changed since the code was issued.
  for (const secret of options.secrets) {
    const device = await findUndecidedDevice(database, { userCodeHash: userCodeHash(secret, userCode), now })
    if (device === undefined) continue
    const client = await findClient(database, { clientId: device.clientId, now })
    const mayUse = client?.disabledAt === null && client.metadata.grant_types.includes(deviceCodeGrantType)
    return mayUse ? { device, client } : undefined
  }
  return undefined
}
