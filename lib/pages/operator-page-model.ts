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
