import type { ClientForm } from '../../pages/client-form-models.ts'
import type { OperatorPageModel } from '../../pages/operator-page-model.ts'
import type { PageForm, PageLinks } from '../../pages/page-parts.ts'

/** The marks next to the name of a client. */
export interface ClientMarks {
  disabled: boolean
  /** It registered itself, or its id is the URL of a metadata document. */
  selfDescribed: boolean
  firstParty: boolean
}

/** A login, or what a client was granted, with the form that ends it. */
interface Ending {
  /** Absent if it has ended. */
  end?: PageForm
}

declare module '../../pages/page-models.ts' {
  // Names, ids and details may come from strangers. Times are ISO 8601.
  interface PageModels {
    'operator-clients': OperatorPageModel & {
      /** What is searched for; empty for all clients. */
      query: string
      action: string
      clients: readonly (ClientMarks & { name: string; id: string; url: string })[]
      newUrl: string
      /** The first page, if this is a later one. */
      previousUrl?: string
      nextUrl?: string
      /** The client that was just deleted. */
      deleted?: string
    }
    'operator-new-client': OperatorPageModel & {
      form: ClientForm
      save: PageForm
      cancelUrl: string
    }
    'operator-client': OperatorPageModel &
      ClientMarks & {
        name: string
        id: string
        since: string
        /** Whether it authenticates with a secret. */
        usesSecret: boolean
        /** When its secret expires. */
        secretExpires?: string
        form: ClientForm
        save: PageForm
        /** Absent if it has no secret. */
        rotate?: PageForm
        /** Disables an enabled client, and enables a disabled one. */
        toggle: PageForm
        removeUrl: string
        /** Events about the client; absent if they are not stored. */
        eventsUrl?: string
        /** What was just done. `stale`: another administrator changed the client meanwhile, so nothing was saved. */
        notice?: 'created' | 'saved' | 'rotated' | 'disabled' | 'enabled' | 'stale'
        /** A new secret, shown once. */
        secret?: string
        /** Until when the previous secret stays valid. */
        previousUntil?: string
      }
    /** Asks whether to delete a client. */
    'operator-delete-client': OperatorPageModel & {
      name: string
      id: string
      disabled: boolean
      /** The most that is counted; there may be more. */
      maxCounted: number
      /** Users who allowed it something. */
      users: number
      /** What users granted it and did not end; some may have expired. */
      authorizations: number
      remove: PageForm
      cancelUrl: string
    }
    'operator-users': OperatorPageModel & {
      query: string
      action: string
      /** Whether users can be found by their login name. */
      findsNames: boolean
      /** Absent if nothing is searched for. */
      user?: PageLinks & {
        id: string
        /** Absent if no enabled user has this id. */
        username?: string
        clients: readonly (Ending & {
          name: string
          id: string
          url: string
          organization?: string
          scopes: readonly string[]
          since: string
          lastUsed: string
          sessions: number
        })[]
        /** The newest ones that were not ended. */
        authorizations: readonly (Ending & {
          id: string
          client: string
          scopes: readonly string[]
          since: string
          /** Absent if it was not used after the first tokens. */
          lastUsed?: string
        })[]
        /** The newest ones. */
        logins: readonly (Ending & {
          since: string
          methods: readonly string[]
          expires: string
          /** When it ended before that. */
          ended?: string
        })[]
        endAll: PageForm
        eventsUrl?: string
      }
      /** What was just done. */
      notice?: 'removed' | 'revoked' | 'signed-out' | 'ended'
    }
    'operator-keys': OperatorPageModel & {
      keys: readonly {
        id: string
        algorithm: string
        kind: 'next' | 'signing' | 'verifying' | 'retired'
        published: string
        signsFrom: string
        publishedUntil?: string
      }[]
      rotate: PageForm
      notice?: 'rotated'
    }
    'operator-events': OperatorPageModel & {
      /** Whether events are stored. */
      isOn: boolean
      action: string
      filter: { user: string; client: string; type: string; errorId: string }
      /** Newest first. */
      events: readonly {
        type: string
        time: string
        errorId: string
        /** All events of that request. */
        url: string
        /** Name and value, in display order. */
        facts: readonly (readonly [string, string])[]
      }[]
      /** Older events. */
      nextUrl?: string
      /** The newest events. */
      previousUrl?: string
    }
  }
}
