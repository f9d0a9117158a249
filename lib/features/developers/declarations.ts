import type { AccountPageModel } from '../../web/pages/account-page-model.ts'
import type { ClientForm } from '../../web/pages/client-form-models.ts'
import type { OperatorPageModel } from '../../web/pages/operator-page-model.ts'
import type { PageForm, PageLinks } from '../../web/pages/page-parts.ts'
import type { DecisionFields, RequestFields } from './administration.ts'
import type { Mistake } from './mistakes.ts'
import type { ProgressStep } from './progress.ts'

/**
 * The state of a client, as its owner reads it. `changed`: it is in use, and a change of it waits. `unchanged`: it is in use, and
 * a change of it was refused. `disabled`: by the host.
 */
export type DeveloperClientState = 'active' | 'waiting' | 'changed' | 'refused' | 'unchanged' | 'disabled'

/** A change of a client that has just happened. `sent`: it, or a change of it, waits for approval. */
export type DeveloperNotice = 'created' | 'saved' | 'sent' | 'rotated'

/** A line of a value; `differs` if the other side lacks it. */
export interface FactLine {
  readonly text: string
  readonly differs: boolean
}

/** The steps that a client has completed. Times are ISO 8601. */
export interface DeveloperProgress {
  readonly steps: readonly { readonly step: ProgressStep; readonly time?: string }[]
  /** The newest request that was refused, unless a later one succeeded. */
  readonly refused?: {
    readonly time: string
    /** The endpoint, below the mount. */
    readonly path: string
    /** In English. */
    readonly reason: string
    readonly expected?: string
    /** The first part is also expected. */
    readonly received?: readonly [same: string, other: string]
  }
}

/** A scope in words, as on the consent page. */
export interface DeveloperScope {
  readonly name: string
  readonly description: string
  /** Its language (BCP 47), if it differs from the page. */
  readonly language?: string
}

/** The part of `oauth.users.export()` about the user's clients. */
export interface ExportedClients {
  /** The ids of the clients that the user registered, if there are any. */
  readonly clients?: readonly string[]
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** The user's clients. */
    developer: AccountPageModel &
      PageLinks & {
        /** In display order. */
        clients: readonly {
          readonly name: string
          readonly clientId: string
          readonly state: DeveloperClientState
          /** The page of the client. */
          readonly url: string
        }[]
        /** The host does not allow this user to register clients. */
        isForbidden?: boolean
        /** The form for another client; absent if the user has as many as the host allows. */
        newUrl?: string
        /** Then: how many that is. */
        max?: number
        /** A client was just deleted. */
        notice?: 'deleted'
      }
    /** The form of one client. */
    'developer-form': PageForm & {
      form: ClientForm
      /** The scopes of the form in words. */
      scopes: readonly DeveloperScope[]
      /** Everything that is wrong with it, in the order of the fields. */
      mistakes: readonly Mistake[]
      /** The client that is changed; absent for a new one. */
      client?: { readonly name: string }
      /** A client or change that the user sends waits for approval. */
      needsApproval: boolean
      /** The client is in use, and stays as it is until a change is approved. */
      isApproved?: boolean
      /** The client has changed since the form was opened. */
      notice?: 'stale'
      cancelUrl: string
    }
    /** One client. */
    'developer-client': AccountPageModel & {
      client: { readonly name: string; readonly clientId: string; readonly state: DeveloperClientState }
      /** It has no secret. */
      isPublic: boolean
      redirectUris: readonly string[]
      scopes: readonly DeveloperScope[]
      issuer: string
      discoveryUrl: string
      /** Its completed steps; absent if events are not stored. */
      progress?: DeveloperProgress
      /** The people who allow it something, at most `maxCounted`. */
      users: number
      maxCounted: number
      /** The page with code for this client. */
      codeUrl?: string
      /** This page. */
      againUrl: string
      /** Why it, or a change of it, was refused. */
      reason?: string
      notice?: DeveloperNotice
      /** A new secret, which no later page shows. */
      secret?: string
      editUrl: string
      /** Absent for a client that does not use a secret. */
      rotateUrl?: string
      deleteUrl: string
    }
    /** Code that signs people in with a client. */
    'developer-code': AccountPageModel & {
      client: { readonly name: string }
      /** The libraries to choose from; the code is for the current one. */
      libraries: readonly { readonly library: string; readonly url: string; readonly isCurrent: boolean }[]
      /** The command that installs what the code needs. */
      install: string
      code?: string
      /** It has no secret. */
      isPublic: boolean
      /** The page of the client. */
      clientUrl: string
    }
    /** Asks whether to give a client a new secret, or to delete it. */
    'developer-confirm': {
      kind: 'rotate' | 'delete'
      /** Path the form posts to. */
      action: string
      hidden: Readonly<Record<string, string>>
      client: { readonly name: string }
      cancelUrl: string
    }
    /** Clients of users that wait for approval. */
    'operator-requests': OperatorPageModel & {
      requests: readonly {
        name: string
        id: string
        /** The page that decides about it. */
        url: string
        /** The login name of the user who owns it, or their id. */
        owner: string
        since: string
        /** A change of an approved client, rather than a new one. */
        isChange: boolean
      }[]
      /** The first page, if this is a later one. */
      previousUrl?: string
      nextUrl?: string
      /** The last decision. `stale`: its owner changed it meanwhile, or it was decided, so nothing happened. */
      notice?: 'approved' | 'refused' | 'stale'
    }
    /** Asks whether to approve a client of a user, or a change of it. */
    'operator-request': OperatorPageModel & {
      /** Its present name. */
      name: string
      id: string
      /** The page about the client. */
      url: string
      /** The login name of the user who owns it, or their id. */
      owner: string
      ownerUrl: string
      since: string
      /** A change of an approved client, rather than a new one. */
      isChange: boolean
      /** The requested members in display order; of a change, those that differ. `now` is empty for a new client. */
      facts: readonly { name: string; now: readonly FactLine[]; asked: readonly FactLine[] }[]
      /** The name that it would have. */
      askedName: string
      /** The number of other clients with that name, up to 100. */
      namesakes: number
      /** The consent page as users would see it: an HTML document. */
      picture: string
      approve: PageForm
      refuse: PageForm
      /** All requests. */
      listUrl: string
    }
  }
}

declare module '../../events/event.ts' {
  interface EventDetails {
    /** A client of a user, or a change of it, waits for `oauth.developers.approve()`. */
    'client.approval_requested': RequestFields
    'client.approved': DecisionFields
    'client.approval_refused': DecisionFields
    /** `oauth.developers.transfer()` gave the client to this user; without `subject` it has no owner now. */
    'client.transferred': { readonly clientId: string; readonly subject?: string }
  }
}
