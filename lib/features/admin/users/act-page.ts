import type { Parameters } from '../../../protocol/parameters.ts'
import { refusal } from '../../../protocol/refusal.ts'
import { countUsageOfUser, maxCounted } from '../../../storage/repositories/index.ts'
import { revokeAllOf } from '../../../users/account/user-lifecycle.ts'
import { isLookup } from '../../../users/users.ts'
import type { OperatorContext, OperatorPage } from '../../../web/endpoints/operator-page.ts'
import type { NamedParameters } from '../../../web/endpoints/page-values.ts'
import type { ActResult } from '../../../web/endpoints/signed-page.ts'
import { ownPath } from '../../../web/http/urls.ts'
import { operatorTexts } from '../texts.ts'
import { fullNameOf } from './full-name.ts'
import { findUserAct, userActPath } from './sections.ts'
import { userTexts } from './texts.ts'

/** The page about a user. */
const usersPath = '/admin/users'

/** @throws OAuthError `invalid_request` if a URL or form names no possible user */
const subjectIn = (parameters: Parameters): string => {
  const subject = parameters.optional('subject', 255)
  if (isLookup(subject)) return subject
  throw refusal('parameter_invalid', {
    values: { parameter: 'subject', problem: 'must be the id of a user' },
  })
}

const backTo = (subject: string, kind: 'ended' | 'done' | undefined): ActResult => ({
  path: usersPath,
  query: { subject },
  notice: kind && { kind },
})

/** The question before everything of a user ends. */
const everything = {
  question: userTexts['operator-user-act.all.question'],
  effect: operatorTexts['operator-users.all.text'],
  label: operatorTexts['operator-users.all'],
}

const show = async (context: OperatorContext, query: Parameters): Promise<void> => {
  const { server, person } = context
  const subject = subjectIn(query)
  const [section, item] = [query.optional('section'), query.optional('item')]
  const isAll = section === undefined
  const asked = isAll ? everything : await findUserAct(server, subject, { section, item })
  if (asked === undefined)
    throw refusal('parameter_invalid', {
      values: { parameter: 'this', problem: 'is no longer there' },
      status: 404,
    })
  const { question, effect, label } = asked
  const user = await server.users.find(subject)
  const fields: NamedParameters = isAll ? { subject } : { subject, section, item: item ?? '' }
  context.send('operator-user-act', {
    ...(await person.header()),
    question,
    effect,
    label,
    id: subject,
    username: user?.username,
    fullName: user && (await fullNameOf(context, user)),
    ...(isAll && { usage: await countUsageOfUser(server.database, { subject, now: server.now() }) }),
    maxCounted,
    run: context.form(fields, isAll ? 'end' : 'run'),
    cancelUrl: ownPath(server, usersPath, { subject }),
  })
}

/** Asks before something of a user ends, and ends it: with `section` and `item` what they name, otherwise everything. */
export const userActPage: OperatorPage = {
  path: userActPath,
  section: 'users',
  fields: ['subject', 'section', 'item'],
  show,
  acts: {
    async run({ server, info, person: { actor } }, form) {
      const subject = subjectIn(form)
      const item = form.optional('item')
      const act = await findUserAct(server, subject, { section: form.optional('section'), item })
      if (act === undefined) return backTo(subject, undefined)
      await act.section.run({ server, subject, info, ...(actor !== undefined && { actor }) }, act.id)
      return backTo(subject, 'done')
    },
    async end({ server, info, person: { actor } }, form) {
      const subject = subjectIn(form)
      await revokeAllOf(server, subject, { info, actor, reason: 'by an administrator' })
      return backTo(subject, 'ended')
    },
  },
}
