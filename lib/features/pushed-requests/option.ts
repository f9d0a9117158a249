/** The checked option. */
export interface PushedRequestOption {
  /** Whether every authorization request must be pushed. */
  readonly isRequired: boolean
  /** Seconds for which a browser can open a pushed request. */
  readonly lifetime: number
}
