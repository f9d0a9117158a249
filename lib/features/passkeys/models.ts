import type { AccountPage } from '../../pages/account-page-model.ts'

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

/** What the last form on the list of passkeys did. */
export type PasskeysNotice = 'added' | 'not-added' | 'renamed' | 'removed'

declare module '../../pages/page-models.ts' {
  interface PageModels {
    /** The user's passkeys. */
    passkeys: {
      /** Path the form posts to. */
      action: string
      hidden: Readonly<Record<string, string>>
      /** The user who is signed in. */
      username: string
      /** In display order. */
      passkeys: readonly PasskeyCard[]
      /**
       * What the script asks the browser for: PublicKeyCredentialCreationOptions as JSON (WebAuthn §5.1.9). Absent if the user
       * has as many passkeys as are allowed.
       */
      options?: string | undefined
      /** What the last form did. */
      notice?: PasskeysNotice
      otherPages: readonly AccountPage[]
    }
    /** One passkey, to rename or remove. */
    passkey: {
      /** Path both forms post to. The decision is `rename` or `remove`. */
      action: string
      hidden: Readonly<Record<string, string>>
      passkey: Omit<PasskeyCard, 'url'>
      username: string
      /** The list of passkeys. */
      cancelUrl: string
    }
  }
}
