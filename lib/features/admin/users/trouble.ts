import { findSignInTrouble, type SignInTrouble } from '../../../users/account/sign-in-trouble.ts'
import type { OperatorContext } from '../../../web/endpoints/operator-page.ts'
import { iso } from '../../../web/endpoints/page-values.ts'
import { accountOf } from '../../../web/sessions/device-cookie.ts'
import type { TroubleModel } from './models.ts'

/** The most attempts and locks that are listed. */
const maxListed = 5

const modelOf = (
  context: OperatorContext,
  username: string,
  fields: Readonly<Record<string, string>>,
  { failures, locks }: SignInTrouble,
): TroubleModel => {
  const first = failures.at(-1)
  // Many locks of one kind do not hide the other.
  const listed = [locks.filter(({ of }) => of === undefined), locks.filter(({ of }) => of !== undefined)]
  return {
    username,
    failures: failures.length,
    ...(first && { since: iso(first.time) }),
    attempts: failures.slice(0, maxListed).map(({ time, ...from }) => ({ time: iso(time), ...from })),
    locks: listed
      .flatMap((some) => some.slice(0, maxListed))
      .map(({ until, ...lock }) => ({ ...lock, until: iso(until) })),
    ...(locks.length > 0 && { unlock: context.form({ ...fields, username }, 'unlock') }),
  }
}

/**
 * Why sign-ins under these login names do not succeed; nothing about names without trouble.
 *
 * @param subject whose other steps may be locked
 * @param fields of the form that unlocks, which lead back to the same user
 */
export const troubleOf = async (
  context: OperatorContext,
  usernames: readonly string[],
  subject: string,
  fields: Readonly<Record<string, string>>,
): Promise<TroubleModel[]> => {
  const found: TroubleModel[] = []
  // Spellings of one name have the same account.
  const names = new Map(usernames.map((username) => [accountOf(context.server, username), username]))
  for (const [place, username] of [...names.values()].entries()) {
    const trouble = await findSignInTrouble(context.server, username, place === 0 ? subject : undefined)
    if (trouble) found.push(modelOf(context, username, fields, trouble))
  }
  return found
}
