/** A page on which users look after their account. */
export interface AccountPageLink {
  /** Its title says what it is about. */
  page: string
  url: string
  isCurrent: boolean
}

/** The members that all pages for administrators of an organization have. */
export interface OrganizationPageModel {
  organization: { readonly name: string; readonly detail?: string }
  /** The administrator who is signed in. */
  username: string
  /** In display order. `count` is the number of things that wait there, up to 100. */
  tabs: readonly {
    readonly section: string
    readonly url: string
    readonly isCurrent: boolean
    readonly count?: number | undefined
  }[]
  accountUrl: string
}

/** The members that all pages of the account have. */
export interface AccountPageModel {
  /** The user who is signed in. */
  username: string
  /** All of these pages, in display order. */
  pages: readonly AccountPageLink[]
  /** The way back to the app. */
  homeUrl?: string | undefined
  signOutUrl: string
}
