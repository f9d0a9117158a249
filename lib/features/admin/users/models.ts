import type { PageForm } from '../../../web/pages/page-parts.ts'

/** Why sign-ins under a login name do not succeed. Times are ISO 8601. */
export interface TroubleModel {
  /** The login name, as it was searched for or as the user has it. */
  username: string
  /** Wrong passwords since the last sign-in. */
  failures: number
  /** The first of them, and the newest ones with their addresses. */
  since?: string
  attempts: readonly { readonly time: string; readonly address?: string }[]
  /** The next attempt is refused until then: from an address, or from all. `of` is what is tried, if it is no password. */
  locks: readonly { readonly until: string; readonly network?: string | undefined; readonly of?: string }[]
  /** Absent if nothing is locked. */
  unlock?: PageForm
}

/** A section of a feature. */
export interface SectionModel {
  title: string
  summary: string
  /** The page that asks about an act on all of it. */
  act?: { readonly label: string; readonly url: string }
  rows: readonly {
    readonly name: string
    readonly facts: readonly { readonly label: string; readonly text?: string; readonly time?: string }[]
    readonly act?: { readonly label: string; readonly url: string }
  }[]
}
