import { type Assessed, assess, type State } from '../../../tools/assessment/requirements.ts'
import type { OperatorPage } from '../../../web/endpoints/operator-page.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'
import './models.ts'

type Group = PageModels['operator-report']['groups'][number]

/** What there is to do comes first. */
const states: readonly (readonly [State, Group['kind']])[] = [
  ['not met', 'not-met'],
  ['host', 'host'],
  ['by configuration', 'by-configuration'],
  ['met', 'met'],
]

/** What an operator can set, each once, with all that it would meet. */
const settingsOf = (rows: Group['rows']): NonNullable<Group['settings']> =>
  [...new Set(rows.map(({ reason }) => reason))].map((setting) => {
    const own = rows.filter(({ reason }) => reason === setting)
    return {
      setting,
      requirements: [...new Set(own.map(({ requirement }) => requirement))],
      sources: own.map(({ source }) => source),
    }
  })

/**
 * The requirements by what an operator has to do about them.
 *
 * @param rows what `assess()` says about a server
 * @returns each state that a requirement has
 */
export const groupsOf = (rows: readonly Assessed[]): Group[] =>
  states
    .map(([state, kind]) => ({
      kind,
      rows: rows
        .filter((row) => row.state === state)
        .map(({ document, number, requirement, reason }) => ({
          requirement,
          source: `${document} §${number}`,
          reason,
        })),
    }))
    .map((group) => ({ ...group, ...(group.kind === 'not-met' && { settings: settingsOf(group.rows) }) }))
    .filter((group) => group.rows.length > 0)

/** What security standards require, and which setting of this server meets it. */
export const reportPage: OperatorPage = {
  path: '/admin/report',
  section: 'report',
  async show({ server, person, send }) {
    send('operator-report', { ...(await person.header()), groups: groupsOf(assess(server.options)) })
  },
}
