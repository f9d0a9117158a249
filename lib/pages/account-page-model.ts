/** A link to another of the pages on which users look after their account. */
export interface AccountPage {
  /** Its title says what it is about. */
  page: string
  url: string
}

/** What the pages of the account have. */
export interface AccountPageModel {
  /** The user who is signed in. */
  username: string
  otherPages: readonly AccountPage[]
}
