/** An act of authentication: begins when a user proves their identity, ends by sign-out or by the host. */
export interface Login {
  /** Session identifier as ID tokens carry it (OIDC Back-Channel Logout §2.1); not a secret. */
  readonly sid: string
  readonly subject: string
  /** Epoch seconds at which the user proved their identity. */
  readonly authTime: number
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Authentication level (OIDC Core §2), if the host declares levels. */
  readonly acr?: string
  /** Whether the host reported it (`login.current`): it counts only while the host does. */
  readonly fromHost?: boolean
}
