import type { OrganizationData, ServerSetup, UserData } from '../../oauth/authorization-server.ts'
import { beginErasure, eraseClient } from '../../oauth/clients/erasure.ts'
import type { ServiceAccountExport } from './declarations.ts'
import { type AccountRow, forgetCreator, listAccountRows, listAccountRowsBy } from './table.ts'

const exported = ({ createdBy: _, ...account }: AccountRow): ServiceAccountExport => account

/** The accounts that a person made stay when the person is erased: they belong to the organization. */
export const userData: UserData = {
  async export(database, subject) {
    const rows = await listAccountRowsBy(database, { subject })
    return rows.length > 0 ? { serviceAccounts: rows.map(exported) } : {}
  },
  revoke: async () => {},
  erase: ({ database }, subject) => forgetCreator(database, { subject }),
}

/** The accounts of an organization end with it. */
export const organizationData: OrganizationData = {
  async export({ database }, organization) {
    const rows = await listAccountRows(database, { organization })
    return rows.length > 0 ? { serviceAccounts: rows } : {}
  },
  async erase(server: ServerSetup, organization) {
    const { events, database } = server
    for (const { clientId } of await listAccountRows(database, { organization })) {
      await events.change(database, async (tx, tell) => {
        await beginErasure({ ...server, database: tx }, clientId)
        await tell('service_account.removed', undefined, { organization, clientId })
      })
      await eraseClient(server, clientId)
    }
  },
}
