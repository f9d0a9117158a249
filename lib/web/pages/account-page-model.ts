/** A page on which users look after their account. */
export interface AccountPageLink {
  /** Its title says what it is about. */
  page: string
  url: string
  isCurrent: boolean
}

/** What the pages of the account have. */
export interface AccountPageModel {
  /** The user who is signed in. */
  username: string
  /** All of these pages, in display order. */
  pages: readonly AccountPageLink[]
  /** The way back to the app. */
  homeUrl?: string | undefined
  signOutUrl: string
}
