import type { OperatorLink } from '../../web/endpoints/operator-page.ts'
import type { ClientForm } from '../../web/pages/client-form-models.ts'
import type { ShownDevice } from '../../web/pages/device-models.ts'
import type { OperatorPageModel } from '../../web/pages/operator-page-model.ts'
import type { PageForm, PageLinks } from '../../web/pages/page-parts.ts'
import type { SectionModel, TroubleModel } from './users/models.ts'

/** The marks next to the name of a client. */
export interface ClientMarks {
  disabled: boolean
  /** It waits for approval, and was not used yet; or a change of it waits. */
  waits?: 'new' | 'change' | undefined
  /** It registered itself, or its id is the URL of a metadata document. */
  selfDescribed: boolean
  firstParty: boolean
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
interface ClientUsage {
  /** The most that is counted; there may be more. */
  maxCounted: number
  /** Users who allowed it something. */
  users: number
  /** What users granted it and did not end; some may have expired. */
  authorizations: number
}

/** A login, or what a client was granted, with the form that ends it. */
interface Ending {
  /** Absent if it has ended. */
  end?: PageForm
}

/** What a user allowed a client at one time. */
export interface ShownAuthorization extends Ending {
  id: string
  client: string
  scopes: readonly string[]
  since: string
  /** Absent if it was not used after the first tokens. */
  lastUsed?: string
}

declare module '../../web/pages/page-models.ts' {
  // Names, ids and details may come from strangers. Times are ISO 8601.
  interface PageModels {
    'operator-clients': OperatorPageModel &
      PageLinks & {
        /** What is searched for; empty for all clients. */
        query: string
        action: string
        /** The kind of the present filter, which a search keeps. */
        filter: string
        /** Those that have clients, with the number of them. */
        filters: readonly {
          kind: 'all' | 'waiting' | 'disabled' | 'self-described' | 'first-party' | 'unused'
          url: string
          isCurrent: boolean
          count: number
          /** Not all clients were looked at, so there may be more. */
          isMore: boolean
        }[]
        /** By name. */
        clients: readonly (ClientMarks & {
          name: string
          id: string
          url: string
          /** The host of its first redirect URI; absent if it has none. */
          host?: string
          /** The host or contact that the search found it by, unless that was its id or name. */
          foundBy?: string
          users: number
          /** There may be more. */
          isMoreUsers: boolean
          /** When it last got tokens; absent if that is not among its newest stored events. */
          lastUsed?: string
        })[]
        /** Whether events are stored, which tell the last use. */
        showsLastUse: boolean
        /** Which clients the page has, and of how many; absent if it has all of them. */
        range?: { first: number; last: number; total: number }
        newUrl: string
        /** The client that was just deleted. */
        deleted?: string
      }
    'operator-new-client': OperatorPageModel & {
      form: ClientFormParts
      save: PageForm
      cancelUrl: string
    }
    'operator-client': OperatorPageModel &
      ClientMarks & {
        name: string
        id: string
        since: string
        /** Users who allowed it something, at most `maxCounted`. */
        users: number
        maxCounted: number
        /** Whether it authenticates with a secret. */
        usesSecret: boolean
        /** When its secret expires. */
        secretExpires?: string
        form: ClientFormParts
        save: PageForm
        /** Absent if it has no secret. */
        rotate?: PageForm
        /** The page that asks whether to disable the client; absent if it is disabled. */
        disableUrl?: string
        /** Enables a disabled client. */
        enable?: PageForm
        removeUrl: string
        /** Events about the client; absent if they are not stored. */
        eventsUrl?: string
        /** Pages of features about the client. */
        links?: readonly OperatorLink[]
        /** What was just done. `stale`: another administrator changed the client meanwhile, so nothing was saved. */
        notice?: 'created' | 'saved' | 'rotated' | 'disabled' | 'enabled' | 'stale'
        /** A new secret, shown once. */
        secret?: string
        /** Until when the previous secret stays valid. */
        previousUntil?: string
      }
    /** Asks whether to disable a client. */
    'operator-disable-client': OperatorPageModel &
      ClientUsage & {
        name: string
        id: string
        disable: PageForm
        cancelUrl: string
      }
    /** Asks whether to delete a client. */
    'operator-delete-client': OperatorPageModel &
      ClientUsage & {
        name: string
        id: string
        disabled: boolean
        remove: PageForm
        cancelUrl: string
      }
    'operator-users': OperatorPageModel & {
      query: string
      action: string
      /** Whether users can be found by their login name. */
      findsNames: boolean
      /** No user has this name or id, and nothing is stored under it. */
      unknown?: boolean
      /** Why sign-ins under the name that was searched for, or that the user has, do not succeed. */
      trouble?: readonly TroubleModel[]
      /** Absent if nothing is searched for. */
      user?: PageLinks & {
        id: string
        /** Absent if no enabled user has this id. */
        username?: string
        /** Absent if it is not known, or is the login name. */
        fullName?: string
        /** The user cannot sign in. */
        isDisabled?: boolean
        /** The newest sign-in; absent if none is stored. */
        lastSignIn?: string
        clients: readonly (Ending & {
          name: string
          id: string
          url: string
          organization?: string
          scopes: readonly string[]
          since: string
          lastUsed: string
          sessions: number
          /** The newest of the user that are of this client and were not ended. */
          authorizations: readonly ShownAuthorization[]
        })[]
        /** The newest ones of the user that are of no client above. */
        authorizations: readonly ShownAuthorization[]
        /** The newest ones. */
        logins: readonly (Ending & {
          device: ShownDevice
          /** Where the user signed in; absent if it is not known. */
          address?: string
          since: string
          /** Absent if it is not known. */
          lastUsed?: string
          methods: readonly string[]
          expires: string
          /** When it ended before that. */
          ended?: string
        })[]
        /** What the features say about the user. */
        more: readonly SectionModel[]
        /** The page that asks whether to end everything. */
        deleteUrl: string
        eventsUrl?: string
        /** Pages of features about the user. */
        links?: readonly OperatorLink[]
      }
      /** What was just done. */
      notice?: 'removed' | 'revoked' | 'signed-out' | 'ended' | 'unlocked' | 'done'
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
      /** The page that asks whether to publish the next keys. */
      publishUrl: string
      notice?: 'rotated'
    }
    /** Asks whether to publish the next keys. */
    'operator-publish-keys': OperatorPageModel & {
      /** Those that get a new key; none if the next key of each is published. */
      algorithms: readonly string[]
      /** When the new keys begin to sign. */
      signsFrom: string
      publish: PageForm
      cancelUrl: string
    }
  }
}
