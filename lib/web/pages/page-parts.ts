// Parts of models that pages of several kinds have.

/** A form. */
export interface PageForm {
  /** Path the form posts to. */
  action: string
  /** Hidden fields: what the form is about, its act if it has only one, and the CSRF token. */
  hidden: Readonly<Record<string, string>>
}

/** The links of a list that has several pages. */
export interface PageLinks {
  /** The page before this one. */
  previousUrl?: string
  /** The page after this one. */
  nextUrl?: string
}
