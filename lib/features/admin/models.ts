import type { ClientForm } from '../../web/pages/client-form-models.ts'
import type { PageForm } from '../../web/pages/page-parts.ts'

/** The marks next to the name of a client. */
export interface ClientMarks {
  disabled: boolean
  /** It waits for approval, and was not used yet; or a change of it waits. */
  waits?: 'new' | 'change' | undefined
  /** It registered itself, or its id is the URL of a metadata document. */
  selfDescribed: boolean
  firstParty: boolean
  /** The id of the organization that it belongs to. */
  organization?: string | undefined
}

/** The form of a client, in parts that open and close. */
export interface ClientFormParts extends Omit<ClientForm, 'inputs'> {
  parts: readonly {
    kind: 'basics' | 'sign-in' | 'permissions' | 'links' | 'advanced'
    isOpen: boolean
    inputs: ClientForm['inputs']
  }[]
}

/** Whom an act on a client concerns. */
export interface ClientUsage {
  /** The most that is counted; there may be more. */
  maxCounted: number
  /** Users who allowed it something. */
  users: number
  /** Authorizations that users gave it and did not end; some may have expired. */
  authorizations: number
}

/** A login, or what a client was granted, with the form that ends it. */
export interface Ending {
  /** Absent if it has ended. */
  end?: PageForm
}

/** The access that a user gave a client at one time. */
export interface ShownAuthorization extends Ending {
  id: string
  client: string
  scopes: readonly string[]
  since: string
  /** Absent if it was not used after the first tokens. */
  lastUsed?: string
}
