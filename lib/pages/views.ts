import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'
import type { LanguageChoice } from '../http/language-choice.ts'
import type { Branding } from '../options/options.ts'
import { type Asset, readAssets } from './assets.ts'
import { createLanguages, type Languages } from './i18n/languages.ts'
import { createText, type Dictionary, escapeHtml } from './i18n/text.ts'
import { hostLink, httpsLink, ownUrl, type PageModels, type PageName, webLink } from './page-models.ts'

/** In which language a page is shown, and which others its footer offers. */
export interface RenderOptions {
  /** @default that of the host */
  readonly language?: string
  /** @default none */
  readonly choices?: readonly LanguageChoice[]
}

/** The pages and their assets. */
export interface Views {
  /** A complete HTML document. Throws a TypeError when a URL that the browser must follow is not http(s). */
  render<Name extends PageName>(page: Name, model: PageModels[Name], speech?: RenderOptions): string
  /** A file of `views/assets` by its exact name, never by a path. */
  asset(name: string): Asset | undefined
}

const ours = fileURLToPath(new URL('../../views/', import.meta.url))

/** Bidirectional overrides, embeddings and isolates, and control characters: they let a text disguise its neighbours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it removes.
const disguises = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** What a client must get back unchanged: as character references, because the engine's filter sees every output. */
const verbatim = (value: unknown): string =>
  escapeHtml(value).replace(disguises, (character) => `&#${character.codePointAt(0)};`)

/** Up to two initials, for the disc of who has no logo; of an e-mail address those of its local part. */
const initials = (name: string): string =>
  (name.split('@')[0]?.match(/(?<![\p{L}\p{N}\p{M}'’])[\p{L}\p{N}]/gu) ?? ['?'])
    .slice(0, 2)
    .join('')
    .toLocaleUpperCase('en')

/** One of the eight tints of the stylesheet, always the same for the same name. */
const tint = (name: string): number => (createHash('sha256').update(name).digest()[0] ?? 0) % 8

/** Templates by name: the host's file where there is one, else ours. */
const createEngine = (directories: readonly string[], cache: boolean): Eta => {
  const engine = new Eta({
    cache,
    autoEscape: true,
    autoFilter: true,
    filterFunction: (value) => String(value ?? '').replace(disguises, ''),
  })
  engine.resolvePath = (name) => {
    const found = directories.map((directory) => join(directory, `${name}.eta`)).find(existsSync)
    if (found === undefined) throw new Error(`there is no template ${name}.eta`)
    return found
  }
  return engine
}

/** A template with a mistake stops the start, not a user's login. */
const compileAll = (engine: Eta): void => {
  for (const file of readdirSync(ours, { recursive: true, encoding: 'utf8' }).filter(
    (name) => extname(name) === '.eta',
  )) {
    const path = engine.resolvePath(file.slice(0, -'.eta'.length))
    try {
      engine.compile(engine.readFile(path))
    } catch (cause) {
      throw new Error(`views: ${path} is not a valid template`, { cause })
    }
  }
}

/** What every template sees as `it`, besides `model`. */
const templateGlobals = (branding: Branding, asset: (name: string) => string, dictionary: Dictionary) => {
  const text = createText(dictionary)
  const name = branding.name ?? 'Latchkey'
  const links = branding.links ?? {}
  return {
    language: dictionary.language,
    direction: dictionary.direction,
    text: text.html,
    plain: text.plain,
    hasText: text.has,
    number: text.number,
    duration: text.duration,
    time: text.time,
    date: text.date,
    brand: {
      name,
      logo: hostLink(branding.logo),
      forgotPassword: hostLink(links.forgotPassword),
      signUp: hostLink(links.signUp),
      help: hostLink(links.help),
      privacy: hostLink(links.privacy),
    },
    asset,
    webLink,
    httpsLink,
    ownUrl,
    verbatim,
    initials,
    tint,
  }
}

/**
 * The pages, in the look of the host's product.
 *
 * @param options.directory a folder whose files replace ours of the same name (templates, `partials/`, `assets/`);
 *   its `assets/theme.css` is added to our stylesheet instead
 * @param options.basePath path of the mount, `''` for the root
 * @param options.languages what they speak; ours by default
 * @param options.cache false reads templates and assets again each time; only in development, by default,
 *   and only with a folder of the host's
 * @throws when the folder does not exist or a template in it does not compile
 */
export const createViews = (options: {
  directory: string | undefined
  branding: Branding
  basePath: string
  languages?: Languages
  cache?: boolean
}): Views => {
  const { directory, branding, basePath } = options
  if (directory !== undefined && !statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`views: there is no folder ${directory}`)
  const directories = directory === undefined ? [ours] : [resolve(directory), ours]
  const cache = options.cache ?? (directory === undefined || process.env.NODE_ENV === 'production')
  const engine = createEngine(directories, cache)
  const kept = readAssets(directories, branding)
  const asset = (name: string): Asset | undefined =>
    (cache ? kept : readAssets(directories, branding)).get(name)
  const assetPath = (name: string): string =>
    `${basePath}/assets/${name}?v=${asset(name)?.etag.replaceAll('"', '') ?? ''}`
  const languages = options.languages ?? createLanguages({ defaultLocale: 'en', locales: {}, scopes: {} })
  const spoken = new Map(
    languages.tags.map((tag) => [tag, templateGlobals(branding, assetPath, languages.dictionary(tag))]),
  )
  compileAll(engine)
  return {
    asset,
    render: (page, model, { language = languages.default, choices = [] } = {}) =>
      engine.render(page, { ...spoken.get(language), choices, model }),
  }
}
