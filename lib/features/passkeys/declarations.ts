import type { AccountPageModel } from '../../web/pages/account-page-model.ts'
import type { PageForm } from '../../web/pages/page-parts.ts'
import type { PasskeyFailure } from './rules.ts'

/** A passkey in the list of a user's passkeys. */
export interface PasskeyCard {
  /** Empty if the user gave none, and nothing else is known. */
  name: string
  /** ISO 8601. */
  created: string
  /** ISO 8601; absent before the first sign-in. */
  lastUsed?: string
  /** The page that renames or removes it. */
  url: string
}

/** The effect of the last form on the list of passkeys. */
export type PasskeysNotice = 'not-added' | 'renamed' | 'removed'

/** The part of `oauth.users.export()` about the user's passkeys. */
export interface ExportedPasskeys {
  /** The user's passkeys; absent without any. */
  readonly passkeys?: readonly {
    readonly name: string
    readonly isBackedUp: boolean
    readonly createdAt: number
    readonly lastUsedAt: number | null
  }[]
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** The user's passkeys. */
    passkeys: AccountPageModel &
      PageForm & {
        /** In display order. */
        passkeys: readonly PasskeyCard[]
        /**
         * For the script: PublicKeyCredentialCreationOptions as JSON (WebAuthn §5.1.9). Absent if the user
         * has as many passkeys as are allowed.
         */
        options?: string | undefined
        /** The most that are allowed. */
        max: number
        /** The effect of the last form. */
        notice?: PasskeysNotice
      }
    /** One passkey, to rename or remove. The decision is `rename` or `remove`. */
    passkey: PageForm & {
      passkey: Omit<PasskeyCard, 'url'>
      username: string
      /** It was just added: the page asks for its name, and does not offer to remove it. */
      isNew?: boolean
      /** The list of passkeys. */
      cancelUrl: string
    }
  }
}

declare module '../../events/event.ts' {
  interface FeatureChanges {
    'passkey.removed': true
  }
  interface EventDetails {
    /** A user added a passkey. */
    'passkey.added': { readonly subject: string }
    /** A user removed a passkey; `passkeys.removeAll()` announces one event for each. */
    'passkey.removed': { readonly subject: string; readonly actor?: string }
    /** A user signed in with a passkey. `login.succeeded` is announced, too. */
    'passkey.used': { readonly subject: string; readonly clientId?: string }
    /**
     * A passkey was not accepted, at a sign-in or when it was added. `login.failed` is announced, too, if it was a sign-in.
     * `subject` is undefined if the passkey is not stored here.
     */
    'passkey.failed': {
      readonly reason: PasskeyFailure
      readonly subject?: string
      readonly clientId?: string
    }
  }
}
