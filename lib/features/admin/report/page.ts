import { listClients, listClientsWithPlain, maxLookedAt } from '../../../storage/repositories/index.ts'
import { type Affects, type Assessed, assess, type State } from '../../../tools/assessment/requirements.ts'
import type { OperatorContext, OperatorPage } from '../../../web/endpoints/operator-page.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'

type Group = PageModels['operator-report']['groups'][number]
type Setting = NonNullable<Group['settings']>[number]

/** The order of the groups: those with something to do come first. */
const states: readonly (readonly [State, Group['kind']])[] = [
  ['not met', 'not-met'],
  ['host', 'host'],
  ['by configuration', 'by-configuration'],
  ['met', 'met'],
]

/** The most clients that are named. */
const maxNamed = 5

/** The enabled clients, and a function that says which of them a setting affects. */
const affectedBy = async (context: OperatorContext): Promise<(affects: Affects) => Setting['affected']> => {
  const { server, person } = context
  const records = await listClients(server.database, { limit: maxLookedAt, now: server.now() })
  const clients = records.filter(({ disabledAt }) => disabledAt === null)
  const sentPlain = await listClientsWithPlain(server.database)
  return ({ by, affects }) => {
    const affected = clients.filter(({ clientId, metadata }) =>
      affects({ metadata, hasSentPlain: sentPlain.has(clientId) }),
    )
    return {
      by,
      count: affected.length,
      total: clients.length,
      isMore: records.length === maxLookedAt,
      clients: affected.slice(0, maxNamed).map(({ clientId, metadata }) => ({
        name: metadata.client_name ?? clientId,
        url: person.clientUrl(clientId),
      })),
    }
  }
}

/** The settings of these requirements, each once, with all that it would meet. */
const settingsOf = (
  rows: readonly Assessed[],
  affectedOf: (affects: Affects) => Setting['affected'],
): Setting[] =>
  [...new Set(rows.map(({ reason }) => reason))].map((setting) => {
    const own = rows.filter(({ reason }) => reason === setting)
    const affects = own.find((row) => row.affects)?.affects
    return {
      setting,
      requirements: [...new Set(own.map(({ requirement }) => requirement))],
      sources: own.map(({ document, number }) => `${document} §${number}`),
      ...(affects && { affected: affectedOf(affects) }),
    }
  })

/** The requirements by what an operator has to do about them: each state that a requirement has. */
const groupsOf = async (context: OperatorContext): Promise<Group[]> => {
  const assessed = assess(context.server.options)
  const affectedOf = await affectedBy(context)
  return states.flatMap(([state, kind]) => {
    const own = assessed.filter((row) => row.state === state)
    if (own.length === 0) return []
    const rows = own.map(({ document, number, requirement, reason }) => ({
      requirement,
      source: `${document} §${number}`,
      reason,
    }))
    return [{ kind, rows, ...(kind === 'not-met' && { settings: settingsOf(own, affectedOf) }) }]
  })
}

/** The requirements of security standards, and the setting of this server that meets each of them. */
export const reportPage: OperatorPage = {
  path: '/admin/report',
  section: 'report',
  async show(context) {
    const { person, send } = context
    send('operator-report', { ...(await person.header()), groups: await groupsOf(context) })
  },
}
