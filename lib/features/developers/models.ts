import type { AccountPageModel } from '../../pages/account-page-model.ts'
import type { ClientForm } from '../../pages/client-form-models.ts'
import type { OperatorPageModel } from '../../pages/operator-page-model.ts'
import type { PageForm, PageLinks } from '../../pages/page-parts.ts'

/**
 * What an owner reads about a client. `changed`: it is in use, and a change of it waits. `unchanged`: it is in use, and a
 * change of it was refused. `disabled`: by the host.
 */
export type DeveloperClientState = 'active' | 'waiting' | 'changed' | 'refused' | 'unchanged' | 'disabled'

/** What has just happened to a client. `sent`: it, or a change of it, waits for approval. */
export type DeveloperNotice = 'created' | 'saved' | 'sent' | 'rotated'

declare module '../../pages/page-models.ts' {
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
      /** The client that is changed; absent for a new one. */
      client?: { readonly name: string }
      /** What the user sends waits for approval. */
      needsApproval: boolean
      /** The client is in use, and stays as it is until a change is approved. */
      isApproved?: boolean
      /** The client has changed since the form was opened. */
      notice?: 'stale'
      cancelUrl: string
    }
    /** One client. */
    'developer-client': {
      client: { readonly name: string; readonly clientId: string; readonly state: DeveloperClientState }
      /** It has no secret. */
      isPublic: boolean
      redirectUris: readonly string[]
      scopes: readonly string[]
      /** Why it, or a change of it, was refused. */
      reason?: string
      notice?: DeveloperNotice
      /** A new secret, which no later page shows. */
      secret?: string
      editUrl: string
      /** Absent for a client that does not use a secret. */
      rotateUrl?: string
      deleteUrl: string
      /** The list of clients. */
      listUrl: string
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
        /** The page about the client. */
        url: string
        /** The user who owns it. */
        owner: string
        ownerUrl: string
        since: string
        /** A change of an approved client, rather than a new one. */
        isChange: boolean
        /** What is asked for: member and value, in display order. */
        facts: readonly (readonly [string, string])[]
        approve: PageForm
        refuse: PageForm
      }[]
      /** The first page, if this is a later one. */
      previousUrl?: string
      nextUrl?: string
      /** What was just done. `stale`: its owner changed it meanwhile, or it was decided, so nothing happened. */
      notice?: 'approved' | 'refused' | 'stale'
    }
  }
}
