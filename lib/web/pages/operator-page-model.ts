/** A link to the first page of a section; the section of this page is marked. */
export interface OperatorSection {
  /** The text `operator.<kind>` is the link. */
  kind: string
  url: string
  isCurrent: boolean
  /** How many things wait there, up to 100; absent for none. */
  count?: number | undefined
}

/** The members that every page for operators has. */
export interface OperatorPageModel {
  sections: readonly OperatorSection[]
  /** Who uses the page, and whose server it is. */
  operator?: {
    /** The host's name for the operator; absent if the host gave none. */
    actor?: string
    issuer: string
    /** Whether the rules of development apply. */
    isDevelopment: boolean
    /** Ends the login of this browser; absent if only the host knows who uses the page. */
    signOutUrl?: string | undefined
  }
}
