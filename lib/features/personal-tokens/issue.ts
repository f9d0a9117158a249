import { randomUUID } from 'node:crypto'
import type { Events } from '../../events/events.ts'
import { hashSecret } from '../../keys/secrets.ts'
import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import type { AllowedUser } from '../../oauth/tokens/allowed.ts'
import type { RequestInfo } from '../../protocol/requests/request-info.ts'
import { isUniqueViolation } from '../../storage/database/errors.ts'
import { transaction } from '../../storage/database/transaction.ts'
import { lockLogin } from '../../storage/repositories/logins.ts'
import { freeSlot } from '../../storage/repositories/slots.ts'
import type { PersonalTokenOption } from './option.ts'
import {
  createPersonalToken,
  listPersonalTokenSlots,
  type PersonalToken,
  removeEndedPersonalTokens,
  removePersonalToken,
} from './table.ts'
import { createPersonalTokenValue } from './value.ts'

/** A user's choices for a personal access token. */
export type PersonalTokenChoice = Pick<
  PersonalToken,
  'name' | 'scopes' | 'organization' | 'choices' | 'expiresAt'
> & {
  /** A user whom the host allows it. */
  readonly user: AllowedUser

  /** The login that makes it; it must stand. */
  readonly sid: string
}

/** An id that never begins with a hyphen, which a command line would read as an option. */
const newId = () => randomUUID().replaceAll('-', '')

type Context = Pick<AuthorizationServer, 'database' | 'events' | 'now'>

/**
 * Creates a personal access token. The caller has checked what the user chose.
 *
 * @returns its value, which is not stored, only its hash; undefined if the user has as many as the option allows, or if the login has ended
 */
export const issuePersonalToken = async (
  context: Context,
  option: Pick<PersonalTokenOption, 'prefix' | 'maxPerUser'>,
  given: PersonalTokenChoice,
  info?: RequestInfo,
): Promise<{ readonly id: string; readonly value: string } | undefined> => {
  const { database, events, now: clock } = context
  const { sid, user, ...choice } = given
  const { subject } = user
  const { name, scopes, choices, expiresAt } = choice
  const [id, value, now] = [newId(), createPersonalTokenValue(option.prefix), clock()]
  try {
    const isStored = await transaction(database, async (tx) => {
      if ((await lockLogin({ sid, now }).run(tx)) === 0) return false
      await removeEndedPersonalTokens(tx, { subject, now })
      const slot = freeSlot(await listPersonalTokenSlots(tx, { subject }), option.maxPerUser)
      if (slot === undefined) return false
      await createPersonalToken(tx, { ...choice, subject, hash: hashSecret(value), id, slot, now })
      return true
    })
    if (!isStored) return undefined
  } catch (error) {
    // A parallel request of the same user has taken the slot.
    if (isUniqueViolation(error)) return issuePersonalToken(context, option, given, info)
    throw error
  }
  const about = { subject, tokenId: id, name, scopes, expiresAt, ...(choices && { choices }) }
  events.announce('token.personal.created', info, about)
  return { id, value }
}

/**
 * Removes a personal access token of a user at once, and announces it.
 *
 * @param by the request, and the administrator if one does it
 * @returns false if the user has no such token
 */
export const revokePersonalToken = (
  { database, events }: Pick<AuthorizationServer, 'database'> & { readonly events: Pick<Events, 'change'> },
  { id, subject }: Pick<PersonalToken, 'id' | 'subject'>,
  { info, actor }: { readonly info?: RequestInfo; readonly actor?: string | undefined } = {},
): Promise<boolean> =>
  events.change(database, async (tx, tell) => {
    if (!(await removePersonalToken(tx, { id, subject }))) return false
    const by = actor === undefined ? {} : { actor }
    await tell('token.personal.revoked', info, { subject, tokenId: id, ...by })
    return true
  })
