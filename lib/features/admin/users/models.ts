import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'
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

declare module '../../../web/pages/page-models.ts' {
  interface PageModels {
    /** Asks before something of a user ends. */
    'operator-user-act': OperatorPageModel & {
      question: string
      effect: string
      label: string
      /** The login name; absent if no enabled user has this id. */
      username?: string
      /** Absent if it is not known, or is the login name. */
      fullName?: string
      id: string
      /** What ends with everything of the user: how many of each, counted up to `maxCounted`. */
      usage?: { readonly logins: number; readonly clients: number; readonly authorizations: number }
      maxCounted: number
      run: PageForm
      cancelUrl: string
    }
  }
}
