import type { AccountPageModel } from '../../pages/account-page-model.ts'
import type { PageForm } from '../../pages/page-parts.ts'

declare module '../../pages/page-models.ts' {
  interface PageModels {
    /** Asks for the code of a second factor, after the password. */
    'second-factor': PageForm & {
      /** The user whose password was right. */
      username: string
      /** The code is sent to the user, who may ask for another one with the field `send`. */
      isSent: boolean
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
    /** Sets up and removes the second factor that Latchkey keeps (`features.authenticatorApps`), and shows its recovery codes once. The decision is `confirm`, `remove` or `saved`. */
    'second-factor-settings': AccountPageModel &
      PageForm & {
        /** What an authenticator app needs; absent if the user has a second factor. */
        setUp?: {
          readonly qr: { readonly size: number; readonly path: string }
          /** In groups of four letters. */
          readonly secret: string
        }
        /** Without `setUp`: since when the user has a second factor (ISO 8601). */
        since?: string
        /** Without `setUp`: the number of unused recovery codes. */
        codesLeft?: number
        /** New recovery codes, which are shown now and never again. */
        codes?: readonly string[]
        error?: 'wrong' | 'throttled'
        /** With `throttled`: seconds until the next code is checked. */
        retryAfter?: number
        notice?: 'removed'
      }
  }
}
