import { statSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { helpLink, hostLink, ownPathOf } from '../protocol/links.ts'
import { refuse } from './check.ts'
import {
  type Checked,
  custom,
  either,
  flag,
  isRecord,
  number,
  type ObjectSchema,
  object,
  oneOf,
  record,
  required,
  type Schema,
  text,
  withDefault,
} from './schema.ts'

/** The media types of pictures that Latchkey serves, by file name extension. */
export const pictureTypes: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
}

/** The media types of fonts that Latchkey serves, by file name extension. */
export const fontTypes: Readonly<Record<string, string>> = { '.woff2': 'font/woff2' }

/**
 * A picture of the host: a path on its own origin, such as `'/logo.svg'`, or a file, which Latchkey serves itself:
 * `new URL('./logo.svg', import.meta.url)`. SVG, PNG, WebP, JPEG, GIF or ICO.
 */
export type Picture = string | URL

const checkedFile = (file: URL, path: string, types = pictureTypes): URL => {
  const extensions = Object.keys(types)
  if (file.protocol !== 'file:' || !extensions.includes(extname(file.pathname).toLowerCase())) {
    refuse(`${path} must be a file: URL that ends with ${extensions.join(', ')}`)
  }
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) refuse(`${path}: the file ${file} does not exist`)
  return file
}

const whatPicture =
  "a path on your own origin such as '/logo.svg', or a file such as new URL('./logo.svg', import.meta.url): the pages load nothing from other origins"

export const picture = custom<Picture>(whatPicture, (value, path) => {
  if (value instanceof URL) return checkedFile(value, path)
  if (typeof value !== 'string') return undefined
  if (value.startsWith('file:') && URL.canParse(value)) return checkedFile(new URL(value), path)
  return ownPathOf(value) === undefined ? undefined : value
})

const logoPair = object({
  /** The logo on light pages. @default the initial of the name */
  light: picture,
  /** The logo on dark pages. @default the initial of the name */
  dark: picture,
})

/** A font of the host: a path on its own origin, or a file, which Latchkey serves itself. WOFF2. */
export type FontFile = string | URL

const whatFont =
  "a path on your own origin such as '/inter.woff2', or a file such as new URL('./inter.woff2', import.meta.url): the pages load nothing from other origins"

const fontFile = custom<FontFile>(whatFont, (value, path) => {
  if (value instanceof URL) return checkedFile(value, path, fontTypes)
  if (typeof value !== 'string') return undefined
  if (value.startsWith('file:') && URL.canParse(value)) return checkedFile(new URL(value), path, fontTypes)
  return ownPathOf(value) === undefined ? undefined : value
})

const fontPair = object({
  /** The font of texts, with weight 400. @default the font of the operating system */
  regular: fontFile,
  /** The font of headings, labels and buttons, with weight 600. @default the browser thickens the regular one */
  bold: fontFile,
})

/** The path of a folder that is given as a path or as a file URL; undefined if it is neither. */
export const folderPath = (value: unknown): string | undefined => {
  const text = value instanceof URL ? value.href : value
  if (typeof text !== 'string') return undefined
  if (text.startsWith('file:') && URL.canParse(text)) return fileURLToPath(text)
  return value instanceof URL ? undefined : text
}

const link = (example: string): Schema<string, string | undefined> =>
  text(`a path such as '${example}' or an https URL`, (value) => hostLink(value) !== undefined)

/** A language tag in canonical form (BCP 47, RFC 5646 §4.5), such as `de` or `pt-BR`. */
export const languageTag = (tag: string, path: string): string => {
  let canonical: string | undefined
  try {
    canonical = Intl.getCanonicalLocales(tag)[0]
  } catch {
    return refuse(`${path}: '${tag}' is not a language tag, such as 'de' or 'pt-BR'`)
  }
  return canonical === tag ? tag : refuse(`${path}: '${tag}' must be written as '${canonical}'`)
}

const locale = object({
  /** Text direction: `'ltr'` or `'rtl'`. @default the direction of the language's script */
  direction: oneOf('ltr', 'rtl'),
  /** Texts by key. A missing text comes from the built-in language, then from `defaultLocale`. */
  texts: required(record(text('a string', () => true))),
})

/** The name of a product that has none. */
export const nameless = 'Latchkey'

const members = {
  /**
   * The path of your own front end for sign-in and consent, such as `'/sign-in'`: docs/front-end.md. @default the built-in
   * pages
   */
  url: text("a path on your own origin, such as '/sign-in'", (value) => ownPathOf(value) !== undefined),
  /** The name of your product. */
  name: withDefault(nameless, text()),
  /**
   * The logo: a path on your own origin, or a file that Latchkey serves: `new URL('./logo.svg', import.meta.url)`. `{ light, dark }`
   * has one for light and one for dark pages. It is shown 32 px high and at most 160 px wide. @default the initial of the name
   */
  logo: either(picture, (value) => !isRecord(value) || value instanceof URL, logoPair, whatPicture),
  /** The logo contains the name, so the pages do not print it again. */
  logoHasName: flag(false),
  /**
   * The product's colour for buttons and links, as `#rgb` or `#rrggbb`. If it lacks contrast, the nearest readable lightness is
   * used: docs/pages.md#colours. @default `'#2b54c4'`, and a lighter blue on dark pages
   */
  accent: text("a colour as #rgb or #rrggbb, such as '#2f6b4f'", (value) =>
    /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(value),
  ),
  /**
   * The font: a variable WOFF2 file, `new URL('./inter.woff2', import.meta.url)`, or a path on your own origin. A font with one
   * weight in each file is `{ regular, bold }`. @default the font of the operating system
   */
  font: either(fontFile, (value) => !isRecord(value) || value instanceof URL, fontPair, whatFont),
  /** The radius of corners of buttons, fields and boxes, in CSS pixels. @default `8` */
  radius: number({ min: 0, max: 22 }),
  /**
   * The colour scheme of the pages: `'light'`, `'dark'`, or `'auto'`. The last one follows the operating system of the user.
   */
  scheme: withDefault('auto', oneOf('auto', 'light', 'dark')),
  /** Your home page, a path or an https URL. Pages that lead nowhere else lead there. @default none */
  home: link('/'),
  /** Links that the pages show, each a path such as `'/terms'` or an https URL. */
  links: object({
    /** Where users set a new password: docs/pages.md#the-way-back. @default none */
    forgotPassword: link('/forgot'),
    /** Where users create an account: docs/pages.md#the-way-back. @default none */
    signUp: link('/join'),
    /** Your help page, or a `mailto:` address. @default none */
    help: text(
      "a path such as '/help', a mailto: address or an https URL",
      (value) => helpLink(value) !== undefined,
    ),
    /** Your privacy policy. @default none */
    privacy: link('/privacy'),
    /** Your terms of service. @default none */
    terms: link('/terms'),
  }),
  /**
   * A folder with templates and styles that replace the built-in ones of the same name: docs/pages.md#templates. A relative path
   * starts at the working directory of the process; `new URL('./views/', import.meta.url)` starts at the file. @default none
   */
  views: custom<string | URL, string>('an existing folder of templates', (value) => {
    const folder = folderPath(value)
    return folder && statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? folder : undefined
  }),
  /** The language, as a tag, if the browser and the client ask for none that is enabled. */
  defaultLocale: withDefault(
    'en',
    custom<string>("a language tag, such as 'de'", (value, path) =>
      typeof value === 'string' ? languageTag(value, path) : undefined,
    ),
  ),
  /**
   * New languages and changed texts by language tag, or true and false to turn a built-in language on and off:
   * docs/pages.md#languages. @default those of ar, de, en, es, fr and ja in which all `scopes` have texts, and `defaultLocale`
   */
  locales: record(
    either(oneOf(true, false), (value) => typeof value === 'boolean', locale),
    languageTag,
  ),
}

type PageSchemasMembers = typeof members

/** The members of `pages`. */
export interface PageSchemas extends PageSchemasMembers {}

export const pages: ObjectSchema<PageSchemas> = object(members)

/** The product's name and look on the pages. */
export type Pages = Checked<typeof pages>
