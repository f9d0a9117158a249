/** A link to another of the pages on which users look after their account. */
export interface AccountPage {
  /** Its title says what it is about. */
  page: string
  url: string
}
