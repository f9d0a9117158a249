import type { AuthorizationServer } from '../../../oauth/authorization-server.ts'
import {
  featureUserSections,
  type UserAct,
  type UserSection,
  type UserSectionRow,
} from '../../../web/endpoints/operator-page.ts'
import { iso } from '../../../web/endpoints/page-values.ts'
import { ownPath } from '../../../web/http/urls.ts'
import type { SectionModel } from './models.ts'

/** The page that asks before an act. */
export const userActPath = '/admin/user-act'

const actLink = (server: AuthorizationServer, subject: string, section: string, { id, label }: UserAct) => ({
  label,
  url: ownPath(server, userActPath, { subject, section, item: id }),
})

const rowOf = (
  server: AuthorizationServer,
  subject: string,
  section: string,
  { name, facts, act }: UserSectionRow,
) => ({
  name,
  facts: facts.map(({ label, value }) =>
    typeof value === 'string' ? { label, text: value } : { label, time: iso(value.time) },
  ),
  ...(act && { act: actLink(server, subject, section, act) }),
})

/** The sections of the features about a user. */
export const userSections = async (server: AuthorizationServer, subject: string): Promise<SectionModel[]> => {
  const models: SectionModel[] = []
  for (const section of server.added(featureUserSections)) {
    const content = await section.read(server, subject)
    if (content === undefined) continue
    const { summary, act, rows = [] } = content
    models.push({
      title: section.title,
      summary,
      ...(act && { act: actLink(server, subject, section.name, act) }),
      rows: rows.map((row) => rowOf(server, subject, section.name, row)),
    })
  }
  return models
}

/** An act of a section that can be done now. */
export interface FoundAct extends UserAct {
  readonly section: UserSection
}

/** The act that a URL or form names, if it is still there to be done. */
export const findUserAct = async (
  server: AuthorizationServer,
  subject: string,
  { section: name, item }: { readonly section: string | undefined; readonly item: string | undefined },
): Promise<FoundAct | undefined> => {
  const section = server.added(featureUserSections).find((each) => each.name === name)
  const content = await section?.read(server, subject)
  if (section === undefined || content === undefined) return undefined
  const acts = [content.act, ...(content.rows ?? []).map((row) => row.act)]
  const act = acts.find((each) => each?.id === item)
  return act && { ...act, section }
}
