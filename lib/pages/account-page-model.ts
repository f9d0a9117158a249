/** A link to another of the pages on which users look after their account. */
export interface AccountPage {
  /** Its title says what it is about. */
  page: 'account' | 'passkeys' | 'second-factor-settings' | 'personal-tokens'
  url: string
}
