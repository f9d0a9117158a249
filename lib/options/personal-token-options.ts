/** Access tokens that users make for themselves, for scripts and tools. */
export interface PersonalTokenOptions {
  /** The scopes that a token can have. They are in the option `scopes`. @default all scopes of the option `scopes` */
  scopes?: readonly string[]
  /** The longest lifetime of a token that users can choose, in seconds: 1 day to 10 years. @default 31536000 (1 year) */
  maxLifetime?: number
  /** The most tokens of a user, 1 to 1000. @default 20 */
  maxPerUser?: number
  /**
   * What tokens begin with, by which scanners for secrets recognise them: lower-case letters and digits, with `_` at the
   * end. Tokens with an earlier prefix are refused. @default 'lk_pat_'
   */
  prefix?: string
}
