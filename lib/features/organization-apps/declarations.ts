import type { OrganizationPageModel } from '../../web/pages/account-page-model.ts'
import type { PageForm, PageLinks } from '../../web/pages/page-parts.ts'
import type { AppRequest, ExportedAppRequest } from './requests-table.ts'
import type { AppLimit, AppOutcome, AppRule } from './rules.ts'

/** The rule for apps that no administrator has decided about. */
export interface OrganizationPolicy {
  readonly apps: AppOutcome
  /** For apps that described themselves, and for which the host does not vouch; the stricter one of both holds. */
  readonly unverified: 'same' | 'ask' | 'blocked'
}

/** A decision about one app. */
export interface AppDecision {
  readonly outcome: AppOutcome
  /** Words for members who may not use it, at most 500 characters. */
  readonly words?: string | undefined
  /** The most that it may do: only what reads, or these scopes. @default what it asks */
  readonly most?: AppLimit | undefined
}

/** The answer to a request. */
export type RequestAnswer = 'everybody' | 'person' | 'refused'

/** An app in an organization. Times are epoch seconds. */
export interface OrganizationApp {
  /** `client:<id>`, or `host:<host>` for clients that describe themselves there. */
  readonly app: string
  readonly name: string
  readonly clientIds: readonly string[]
  /** Members who allow it something. */
  readonly users: number
  readonly lastUsedAt: number | null
  /** The rule for it. */
  readonly outcome: AppOutcome
  /** Absent if only the policy holds for it. */
  readonly decision?: AppRule
}

/** The part of `oauth.users.export()` about what the user asked administrators for. */
export interface ExportedAppRequests {
  /** Requests for apps; absent without any. */
  readonly appRequests?: readonly ExportedAppRequest[]
}

/** The part of `oauth.organizations.export()` about apps. */
export interface ExportedOrganizationApps {
  /** The decisions about apps, with the policy. */
  readonly appRules?: readonly AppRule[]
  /** Requests of members that wait. */
  readonly appRequests?: readonly AppRequest[]
}

/** A permission in words, as on the consent page. */
interface Permission {
  readonly name: string
  readonly description: string
  /** Its language (BCP 47), if it differs from the page. */
  readonly language?: string
}

/** A request in the list. */
interface RequestRow {
  readonly name: string
  readonly host: string
  /** The login name of the member, or their id. */
  readonly member: string
  /** ISO 8601. */
  readonly since: string
  readonly reason?: string
  /** How many other members ask for the same app. */
  readonly others: number
  readonly url: string
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** The apps that members use. */
    'organization-apps': OrganizationPageModel &
      PageLinks & {
        policy: OrganizationPolicy & { readonly url: string }
        /** How many there are, and how many of them were not used for six months. */
        total: number
        unused: number
        /** The words of the search, with `action` as the path of the search by GET. */
        query: string
        show: 'all' | 'ask' | 'blocked' | 'unused'
        action: string
        hidden: Readonly<Record<string, string>>
        filters: readonly { readonly show: string; readonly url: string; readonly isCurrent: boolean }[]
        apps: readonly {
          readonly name: string
          /** Who runs it, as far as it is known. */
          readonly host: string
          readonly unverified: boolean
          readonly users: number
          /** ISO 8601; absent if no member uses it. */
          readonly lastUsed?: string
          readonly outcome: AppOutcome
          readonly isLimited: boolean
          readonly url: string
        }[]
        notice?: 'policy' | 'removed'
      }
    /** The rule for apps that no administrator has decided about. */
    'organization-policy': OrganizationPageModel &
      PageForm & { policy: OrganizationPolicy; cancelUrl: string }
    /** One app. */
    'organization-app': OrganizationPageModel &
      PageLinks & {
        name: string
        host: string
        unverified: boolean
        /** The names of the clients that belong to it, if it is a host. */
        clients: readonly string[]
        users: number
        outcome: AppOutcome
        /** Only the policy holds for it. */
        isByPolicy: boolean
        words: string
        /** The most that it may do. */
        most: 'asked' | 'read' | 'these'
        /** Whether "Read only" would take something from it. */
        mayRead: boolean
        permissions: readonly (Permission & { readonly users: number; readonly checked: boolean })[]
        decide: PageForm
        members: readonly {
          readonly name: string
          readonly since: string
          readonly lastUsed: string
          readonly remove: PageForm
        }[]
        /** Absent if no member uses it. */
        removeUrl?: string
        listUrl: string
        notice?: 'saved' | 'removed'
      }
    /** Asks whether to end every member's access by an app. */
    'organization-remove': OrganizationPageModel &
      PageForm & { name: string; users: number; isBlocked: boolean; cancelUrl: string }
    /** The requests of members. */
    'organization-requests': OrganizationPageModel &
      PageLinks & { requests: readonly RequestRow[]; notice?: RequestAnswer | 'stale' }
    /** One request. */
    'organization-request': OrganizationPageModel &
      RequestRow & {
        client: ClientCard
        permissions: readonly Permission[]
        /** The consent page as the member would see it: an HTML document. */
        picture?: string
        answer: PageForm
        listUrl: string
      }
    /** The events of the organization. */
    'organization-activity': OrganizationPageModel &
      PageLinks & {
        /** Whether events are stored. */
        isOn: boolean
        events: readonly {
          /** Its type: the text `organization.event.<type>`. */
          readonly event: string
          readonly time: string
          readonly user?: string
          readonly app?: string
        }[]
        csvUrl: string
      }
    /** A member meets an app that an administrator must allow, or has blocked. */
    'organization-ask': PageForm & {
      client: ClientCard
      /** The user who is signed in. */
      username: string
      /** The name of the organization. */
      organization: string
      /** `full`: the member has too many requests that wait. */
      state: 'ask' | 'sent' | 'refused' | 'blocked' | 'full'
      /** The administrator's explanation, as text. */
      words?: string
      /** The user belongs to others, which they may choose. */
      hasOthers: boolean
      /** A device asks, to which no link leads. */
      device?: boolean
    }
  }
}

declare module '../../events/event.ts' {
  interface EventDetails {
    /** An administrator changed what members can do with apps about which nothing is decided. */
    'organization.policy_changed': OrganizationPolicy & {
      readonly organization: string
      /** The administrator; absent if the host did it. */
      readonly subject?: string
    }
    /** An administrator decided about an app: `client:<id>` or `host:<host>`. */
    'organization.app_decided': {
      readonly organization: string
      readonly app: string
      readonly outcome: AppOutcome
      /** The administrator; absent if the host did it. */
      readonly subject?: string
    }
    /** A member asked for an app. Tell the administrators. */
    'organization.access_requested': {
      readonly organization: string
      readonly clientId: string
      /** The member. */
      readonly subject: string
    }
    /** A member's request was answered. Tell the member. */
    'organization.access_answered': {
      readonly organization: string
      readonly clientId: string
      /** The member. */
      readonly subject: string
      readonly answer: RequestAnswer
    }
    /** An administrator ended the access of every member by an app. */
    'organization.app_removed': {
      readonly organization: string
      readonly app: string
      /** How many members. */
      readonly users: number
      /** The administrator; absent if the host did it. */
      readonly subject?: string
    }
  }
}
