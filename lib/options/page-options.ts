/** A language of the host's own, or changed texts in a built-in one. */
export interface LocaleOptions {
  /** Text direction. @default the direction of the language's script */
  direction?: 'ltr' | 'rtl'
  /** Texts by key. A missing text comes from the built-in language, then from `defaultLocale`. */
  texts: Readonly<Record<string, string>>
}

/** What the consent page says about a scope, in one language. */
export interface ScopeWords {
  /** One short sentence for the user, such as "See your orders". */
  description: string
  /** More text, folded away on the page. @default none */
  details?: string
}

/** A scope of the host's. Its texts are in the language of `defaultLocale`. */
export interface ScopeOptions extends ScopeWords {
  /** The same texts in other languages, by language tag: `{ de: { description: 'Ihre Bestellungen sehen' } }`. @default {} */
  locales?: Readonly<Record<string, ScopeWords>>
  /** Claims that UserInfo returns for this scope. @default [] */
  claims?: readonly string[]
  /**
   * Scopes that this one includes. A guard for one of them also accepts a token with this scope. Tokens, consent and
   * introspection keep the scopes that were granted. @default []
   */
  implies?: readonly string[]
  /** Lets the user untick the scope on the consent page. @default false */
  optional?: boolean
  /**
   * What the scope is about: who the user is, what the client can see, or what it can change. The consent page orders
   * the scopes by it and shows an icon. @default 'change' for a sensitive scope, else 'other', which has a neutral icon
   */
  group?: 'identity' | 'read' | 'change' | 'other'
  /** `'high'` marks the scope as sensitive. A sensitive optional scope starts unticked. @default 'normal' */
  risk?: 'normal' | 'high'
}

/**
 * A picture of the host: a path on its own origin, such as `'/logo.svg'`, or a file, which Latchkey serves itself:
 * `new URL('./logo.svg', import.meta.url)`. SVG, PNG, WebP, JPEG, GIF or ICO.
 */
export type Picture = string | URL

/** A logo for light and one for dark pages. Where one is missing, the pages show the name's first letter on a disc. */
export interface LogoPair {
  /** For light pages. */
  light?: Picture
  /** For dark pages. */
  dark?: Picture
}

/** The product's name and look on the pages. */
export interface Branding {
  /** The product's name. @default 'Latchkey' */
  name?: string
  /**
   * The logo: one for all pages, or one for light and one for dark pages. It is shown 32 px high and at most 160 px
   * wide. Pages load nothing from other origins. @default the name's first letter on a disc
   */
  logo?: Picture | LogoPair
  /** The logo contains the name, so the pages do not print it again beside the logo. @default false */
  logoHasName?: boolean
  /**
   * The product's colour as `#rgb` or `#rrggbb`, for buttons and links. If it lacks contrast on light or dark pages,
   * the nearest readable lightness is used there. @default '#2b54c4', and a lighter blue on dark pages
   */
  accent?: string
  /** The product's home page, where a page leads that has no other way on. A path or a URL. @default none */
  home?: string
  /** Links that the pages show: paths or URLs; `help` may also be a `mailto:` address. @default {} */
  links?: {
    /** Where users set a new password. It gets `return_to` and `login_hint`. */
    forgotPassword?: string
    /** Where users create an account. It gets `return_to`. */
    signUp?: string
    /** Your help page, or a `mailto:` address. */
    help?: string
    /** Your privacy policy. */
    privacy?: string
    /** Your terms of service. */
    terms?: string
  }
}
