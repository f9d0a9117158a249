/** A link to the first page of a section; the section of this page is marked. */
export interface OperatorSection {
  /** The text `operator.<kind>` is the link. */
  kind: string
  url: string
  isCurrent: boolean
}

/** What every page for operators has. */
export interface OperatorPageModel {
  sections: readonly OperatorSection[]
}

/** A form with one button. */
export interface OperatorForm {
  /** Path the form posts to. */
  action: string
  /** Hidden fields: the act, what it is about, and the CSRF token. */
  hidden: Readonly<Record<string, string>>
}
