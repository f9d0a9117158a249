import type { EventGroup } from '../../events/description.ts'
import type { OperatorLink, OperatorTrouble } from '../../web/endpoints/operator-page.ts'
import type { ShownDevice } from '../../web/pages/device-models.ts'
import type { OperatorPageModel } from '../../web/pages/operator-page-model.ts'
import type { PageForm, PageLinks } from '../../web/pages/page-parts.ts'
import type { ShownEvent } from './events/models.ts'
import type { ClientFormParts, ClientMarks, ClientUsage, Ending, ShownAuthorization } from './models.ts'
import type { ShownHour, ShownTrouble } from './overview/models.ts'
import type { SectionModel, TroubleModel } from './users/models.ts'

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    // Values may come from strangers.
    'operator-events': OperatorPageModel & {
      /** Whether events are stored. */
      isOn: boolean
      action: string
      /** The filter of the search; empty strings stand for everything. The times are those of the inputs, in UTC. */
      filter: {
        user: string
        client: string
        type: string
        errorId: string
        from: string
        to: string
        span: string
      }
      /** Spans until now. */
      spans: readonly { kind: 'all' | 'hour' | 'day' | 'week'; url: string; isCurrent: boolean }[]
      /** The types of events that can be chosen. */
      groups: readonly {
        group: EventGroup
        types: readonly { type: string; title: string }[]
      }[]
      /** Newest first. */
      days: readonly { date: string; events: readonly ShownEvent[] }[]
      /** How far the search went, if older events remain that were not searched. */
      searchedTo?: string
      /** Older events. */
      nextUrl?: string
      /** The newest events. */
      previousUrl?: string
    }
    // Names, ids and details may come from strangers. Times are ISO 8601.
    'operator-clients': OperatorPageModel &
      PageLinks & {
        /** The words of the search; empty for all clients. */
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
        /** The last act. `stale`: another administrator changed the client meanwhile, so nothing was saved. */
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
          /** The things that it may use, by kind. Absent without the option `choices`. */
          things?: readonly CountedThings[]
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
        /** The sections of the features about the user. */
        more: readonly SectionModel[]
        /** The page that asks whether to end everything. */
        deleteUrl: string
        eventsUrl?: string
        /** Pages of features about the user. */
        links?: readonly OperatorLink[]
      }
      /** The last act. */
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
    // Names and reasons may come from strangers. Times are ISO 8601.
    'operator-overview': OperatorPageModel & {
      /** The activity of the last 24 hours; absent if events are not stored. */
      now?: {
        /** The present one comes last. */
        hours: readonly ShownHour[]
        /** Whether a day had more events than are counted. */
        isMore: boolean
        /** Login names that are locked. */
        locks: number
        locksUrl: string
        /** Of the last 24 hours. */
        tokens: number
        tokensUrl: string
        /** Whether there were more tokens than are counted. */
        isMoreTokens: boolean
        /** Troubles in the sections of other features, until someone looks after them. */
        alarms: readonly (OperatorTrouble & { url: string })[]
        /** Those that hurt most people first, of the last 24 hours. */
        troubles: readonly ShownTrouble[]
        /** When more was refused than is stored, in the last 24 hours; absent if all was stored. */
        limitedAt?: string
        /** Of the last 24 hours; `share` is a percentage of the greatest. */
        clients: readonly { name: string; url: string; count: number; share: number }[]
      }
      /** The next key of any algorithm that signs; absent if none is published. */
      nextKey?: { days: number; time: string }
      keysUrl: string
    }
    /** The requirements of security standards. */
    'operator-report': OperatorPageModel & {
      /** The most urgent group comes first. */
      groups: readonly {
        kind: 'not-met' | 'host' | 'by-configuration' | 'met'
        rows: readonly {
          requirement: string
          /** The standard and the section, such as `RFC 9700 §2.1`. */
          source: string
          /** The setting that decides, what the app must do, or the test that shows it. */
          reason: string
        }[]
        /** Of `not-met`: the settings that would meet the requirements. */
        settings?: readonly {
          setting: string
          requirements: readonly string[]
          sources: readonly string[]
          /** The clients that it affects; absent if it affects none. */
          affected?: {
            /** `use`: what they sent of late says it. */
            by: 'registration' | 'use'
            count: number
            /** Enabled clients. */
            total: number
            /** Not all clients were looked at. */
            isMore: boolean
            /** The first of them. */
            clients: readonly { name: string; url: string }[]
          }
        }[]
      }[]
    }
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
      /** How many of each end with everything of the user, counted up to `maxCounted`. */
      usage?: { readonly logins: number; readonly clients: number; readonly authorizations: number }
      maxCounted: number
      run: PageForm
      cancelUrl: string
    }
  }
}
