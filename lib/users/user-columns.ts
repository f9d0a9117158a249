/** When a user whose row has this column may sign in. */
export type ActivityRule = 'true' | 'false' | 'null' | 'past' | 'value'

/** A column that says whether a user may sign in. */
export interface ActivityColumn {
  readonly column: string
  /**
   * The column must be true, false or null, or a time in the past. `value`: the name does not say which of its values are those
   * of active users.
   */
  readonly rule: ActivityRule
}

/** `EmailConfirmed`, `emailConfirmed` and `email_confirmed` are one name. */
const snakeCase = (name: string): string =>
  name
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replace(/^_+/, '')

/** Names of columns, in snake_case, with the rule of each. The first that fits counts. */
const rules: readonly (readonly [RegExp, ActivityRule])[] = [
  [
    /^(?:lockout_end|(?:ban|banned|block|blocked|suspended|lock|locked|disabled)_(?:until|till)|lock_expires)(?:_utc)?$/,
    'past',
  ],
  [
    /^(?:banned|blocked|disabled|suspended|deactivated|deleted|removed|archived|discarded|locked|inactive|trashed)_(?:at|on|date|time)$/,
    'null',
  ],
  [/^(?:deletion|ban|suspension)_(?:date|time)$/, 'null'],
  [
    /^(?:is_|was_)?(?:banned|block|blocked|disable|disabled|suspended|deactivated|deleted|removed|archived|discarded|locked|inactive|trashed)$/,
    'false',
  ],
  [/^(?:is_)?(?:active|enabled|activated|approved|account_non_locked|account_non_expired)$/, 'true'],
  [/^(?:account_|user_)?(?:status|state)$/, 'value'],
]

/**
 * The columns of a user table that say who may sign in, by their names.
 *
 * @example activityColumns(['id', 'email', 'banned_at']) // [{ column: 'banned_at', rule: 'null' }]
 */
export const activityColumns = (columns: readonly string[]): readonly ActivityColumn[] =>
  columns.flatMap((column) => {
    const [, rule] = rules.find(([names]) => names.test(snakeCase(column))) ?? []
    return rule === undefined ? [] : [{ column, rule }]
  })

/** Usual names of columns for a second factor, in snake_case. */
const secondFactor = /(?:^|_)(?:totp|otp|mfa|2fa|tfa|two_?factor|second_factor|webauthn|passkey)(?:_|$|s$)/

/**
 * The columns of a user table that a second factor may use, by their names.
 *
 * @example secondFactorColumns(['id', 'email', 'totpSecret']) // ['totpSecret']
 */
export const secondFactorColumns = (columns: readonly string[]): readonly string[] =>
  columns.filter((column) => secondFactor.test(snakeCase(column)))

const verified =
  /^(?:is_)?(?:email_?(?:is_)?(?:verified|confirmed)|(?:email_)?(?:verified|confirmed))(_at|_on|_date)?$/

/**
 * The column that says whether the e-mail address of a user was verified.
 *
 * @returns `isTime`: it has the time of the verification, and null before
 * @example verifiedColumn(['email_verified_at']) // { column: 'email_verified_at', isTime: true }
 */
export const verifiedColumn = (
  columns: readonly string[],
): { readonly column: string; readonly isTime: boolean } | undefined => {
  for (const column of columns) {
    const found = verified.exec(snakeCase(column))
    if (found) return { column, isTime: found[1] !== undefined }
  }
  return undefined
}
