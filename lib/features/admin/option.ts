import { type CheckedMembers, callback, required } from '../../options/schema.ts'
import type { WithRequest } from '../../options/users.ts'

/** Pages for administrators, at `/admin`: docs/admin.md. */
export const members = {
  /**
   * Says at each request who may use these pages, by `true` or the id of the administrator. There is no other guard.
   */
  allow: required(callback<(asked: WithRequest) => boolean | string | Promise<boolean | string>>()),
}

/** The checked options. */
export type AdminOption = CheckedMembers<typeof members>
