import type { AccountPageModel } from '../../web/pages/account-page-model.ts'
import type { PageForm } from '../../web/pages/page-parts.ts'

/** The part of `oauth.users.export()` about the user's second factor. */
export interface ExportedSecondFactor {
  /** The second factor that Latchkey keeps, if the user has one (`authenticatorApps()`). */
  readonly secondFactor?: { readonly createdAt: number; readonly recoveryCodesLeft: number }
}

declare module '../../web/pages/page-models.ts' {
  interface PageModels {
    /** Asks for the code of a second factor, after the password. */
    'second-factor': PageForm & {
      /** The user whose password was right. */
      username: string
      /** The code is sent to the user, who may ask for another one with the field `send`. */
      isSent: boolean
      /** With `isSent`: where the code went, as the host says it. */
      sentTo?: string
      /** The number of digits of a code, if it is known: the script then sends the form. */
      digits?: number
      /** The field is for a recovery code. */
      isRecovery: boolean
      /** Why the last code was rejected. `not-sent`: no more codes are sent for now. */
      error?: 'wrong' | 'not-sent' | 'unavailable'
      /** With `wrong`: one more failure ends this sign-in. */
      isLastTry?: boolean
      /** With `unavailable`: the request id in the log. */
      errorId?: string
      /** Another code was sent. */
      notice?: 'sent'
      /** The page for the other kind of code, if the user may have recovery codes. */
      otherCodeUrl?: string
      /** The form for another user. */
      switchUrl: string
    }
    /** Sets up and removes the second factor that Latchkey keeps (`authenticatorApps()`), and shows its recovery codes once. The decision is `confirm`, `renew`, `replace`, `keep`, `remove` or `saved`. */
    'second-factor-settings': AccountPageModel &
      PageForm & {
        /** The secret for an authenticator app; absent if the user has a second factor. */
        setUp?: {
          readonly qr: { readonly size: number; readonly path: string }
          /** In groups of four letters. */
          readonly secret: string
          /** The secret as an `otpauth:` link, which opens an app on the phone. */
          readonly uri: string
        }
        /** Since when the user has a second factor (ISO 8601). With `setUp`, another app takes its place. */
        since?: string
        /** Without `setUp`: the number of unused recovery codes. */
        codesLeft?: number
        /** New recovery codes, which are shown now and never again. */
        codes?: readonly string[]
        /** With `codes`: the name of the product, and when they were made (ISO 8601), for the file and the print. */
        product?: string
        madeAt?: string
        error?: 'wrong' | 'throttled'
        /** With `throttled`: seconds until the next code is checked. */
        retryAfter?: number
        notice?: 'on' | 'removed' | 'replaced'
      }
  }
}

declare module '../../events/event.ts' {
  interface EventDetails {
    /** The password was right, and the page asks for the second factor. There is no login yet. */
    'second_factor.requested': LoginAttemptFields & { readonly subject: string }
    /** A code was wrong, or had been used before. */
    'second_factor.failed': LoginAttemptFields & { readonly subject: string }
    /** A user has set up a second factor at Latchkey (`authenticatorApps()`). */
    'second_factor.added': { readonly subject: string }
    /** The second factor was removed, by the user, an administrator (`actor`), or by `secondFactor.remove()`. */
    'second_factor.removed': { readonly subject: string; readonly actor?: string }
    /** A user has replaced the app by another one. */
    'second_factor.replaced': { readonly subject: string }
    /** A user has made new recovery codes; the old ones no longer work. */
    'second_factor.recovery_codes_renewed': { readonly subject: string }
    /** A recovery code was used instead of a code; `left` is the number of those that are left. */
    'second_factor.recovery_code_used': { readonly subject: string; readonly left: number }
  }
}
