import { clientName } from '../../protocol/clients/client.ts'
import { findClientRecords } from '../../storage/repositories/clients.ts'
import { type OrganizationPage, organizationUrl } from '../../web/endpoints/organization-page.ts'
import { iso, pageLinks, pageNumberOf } from '../../web/endpoints/page-values.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import type { ServiceAccountOption } from './option.ts'
import { accountPath, accountsPath, accountUrl, newPath, section } from './page.ts'
import { listAccountRows } from './table.ts'

/** Accounts on one page. */
const pageSize = 50

/** The service accounts of an organization. */
export const accountsPage = ({ maxPerOrganization }: ServiceAccountOption): OrganizationPage => ({
  path: accountsPath,
  section,
  async show(context, query) {
    const { server, person, language, notice } = context
    const { database } = server
    const { id } = person.organization
    const now = server.now()
    const all = await listAccountRows(database, { organization: id })
    const last = Math.max(1, Math.ceil(all.length / pageSize))
    const number = Math.min(pageNumberOf(query), last)
    const rows = all.slice((number - 1) * pageSize, number * pageSize)
    const clientIds = rows.map(({ clientId }) => clientId)
    const clients = new Map(
      (await findClientRecords(database, { clientIds, now })).map((client) => [client.clientId, client]),
    )
    const accounts = rows.flatMap((row) => {
      const client = clients.get(row.clientId)
      const owner = client?.metadata.owned_by
      // It may just have been removed.
      if (client === undefined || owner === undefined) return []
      return {
        name: clientName(client, language),
        url: accountUrl(server, accountPath, row),
        until: iso(owner.until),
        isExpired: owner.until <= now,
        isDisabled: client.disabledAt !== null,
        ...(row.lastUsedAt !== null && { lastUsed: iso(row.lastUsedAt) }),
      }
    })
    const removed = noticeOf(notice, ['removed'])
    context.send('service-accounts', {
      ...(await person.header()),
      accounts,
      ...pageLinks(server, accountsPath, { number, isLast: number === last }, { organization: id }),
      ...(all.length < maxPerOrganization
        ? { newUrl: organizationUrl(server, newPath, id) }
        : { max: maxPerOrganization }),
      ...(removed && { notice: removed }),
    })
  },
})
