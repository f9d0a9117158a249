import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'
import type { Pages, Picture } from '../../options/pages.ts'
import { helpLink, hostLink, httpsLink, mailLink, ownPathOf, ownUrl, webLink } from '../../protocol/links.ts'
import { type Asset, readAssets, servedName } from './assets.ts'
import { createLanguages, type Languages } from './i18n/languages.ts'
import { createText, type Dictionary, escapeHtml } from './i18n/text.ts'
import { leftOut, probe } from './layout.ts'
import { isOperatorPage, type PageModels, type PageName } from './page-models.ts'
import { ownTemplates, viewFolders } from './template-version.ts'
import { facesOf } from './theme/brand.ts'
import { type SchemeColours, surfacesOf } from './theme/scheme.ts'

/** A language that the footer of a page offers. */
export interface LanguageChoice {
  readonly tag: string
  /** The name of the language in that language. */
  readonly name: string
  /** The URL of this page in that language; absent for the current one. */
  readonly url?: string
}

/** The language of a page, and the languages that its footer offers. */
export interface RenderOptions {
  /** @default the host's default locale */
  readonly language?: string
  /** @default none */
  readonly choices?: readonly LanguageChoice[]
}

/** The pages and their assets. */
export interface Views {
  /**
   * Renders a complete HTML document.
   *
   * @throws TypeError when a URL that the browser must follow is not http or https · what a template of the host throws
   */
  render<Name extends PageName>(page: Name, model: PageModels[Name], options?: RenderOptions): string
  /** As {@link Views.render}, with Latchkey's own templates. Undefined if the host has no others. */
  readonly renderBuiltIn: Views['render'] | undefined
  /** Finds a file of `views/assets` by its exact name; a path finds nothing. */
  asset(name: string): Asset | undefined
  /** Whether pages load fonts. */
  hasFonts(): boolean
  /** The path of a picture of the host; undefined if it is neither a path nor one of the files that the options name. */
  picture(picture: Picture): string | undefined
}

/** Control characters and bidirectional controls, which can change how the text around them appears. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
const disguises = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** For values that a client must receive unchanged: character references pass the filter that removes disguises. */
const verbatim = (value: unknown): string =>
  escapeHtml(value).replace(disguises, (character) => `&#${character.codePointAt(0)};`)

/** HTML of a name or an address, which may break before the `@`. */
const address = (value: unknown): string =>
  `<bdi>${escapeHtml(value).replace(disguises, '').replace('@', '<wbr>@')}</bdi>`

/** Up to two initials of a name, or of the local part of an email address. */
const initials = (name: string): string =>
  (name.split('@')[0]?.match(/(?<![\p{L}\p{N}\p{M}'’])[\p{L}\p{N}]/gu) ?? ['?'])
    .slice(0, 2)
    .join('')
    .toLocaleUpperCase('en')

/** Picks one of the eight tints of the stylesheet; the same name always gets the same tint. */
const tint = (name: string): number => (hash('sha256', name, 'buffer')[0] ?? 0) % 8

/** Finds templates by name; a file of the host takes precedence over Latchkey's. */
const createEngine = (directories: readonly string[], cache: boolean): Eta => {
  const engine = new Eta({
    cache,
    autoEscape: true,
    autoFilter: true,
    filterFunction: (value) => String(value ?? '').replace(disguises, ''),
  })
  const paths = new Map<string, string>()
  engine.resolvePath = (name) => {
    const known = paths.get(name)
    if (known !== undefined) return known
    const path = directories.map((directory) => join(directory, `${name}.eta`)).find(existsSync)
    if (path === undefined) throw new Error(`views: template ${name}.eta does not exist`)
    if (cache) paths.set(name, path)
    return path
  }
  return engine
}

/** Compiles templates at start-up, so that a mistake of the host in one does not first appear during a login. */
const compileAll = (engine: Eta, names: readonly string[]): void => {
  for (const name of names) {
    const path = engine.resolvePath(name)
    try {
      engine.compile(engine.readFile(path))
    } catch (cause) {
      throw new Error(`views: ${path} is not a valid template`, { cause })
    }
  }
}

/** @throws Error when the layout of a host lacks what ours gives to every page */
const assertLayout = (engine: Eta, data: object): void => {
  const [ours, theirs] = [createEngine(viewFolders, true), engine].map((each) => each.render('layout', data))
  const missing = leftOut(ours ?? '', theirs ?? '')
  if (missing.length === 0) return
  throw new Error(
    `views: ${engine.resolvePath('layout')} leaves out ${missing.join(', ')}; ` +
      "include('partials/head') in its <head> and include('partials/main') in its <body> bring all of it",
  )
}

/** The logo for light and for dark pages; in one scheme there are only pages of that. */
const logoPair = ({
  logo,
  scheme,
}: Pages): { readonly light?: Picture | undefined; readonly dark?: Picture | undefined } => {
  const pair = typeof logo === 'string' || logo instanceof URL ? { light: logo, dark: logo } : (logo ?? {})
  return scheme === 'auto' ? pair : { light: pair[scheme], dark: pair[scheme] }
}

interface Paths {
  asset(name: string): string
  picture(picture: Picture): string | undefined
  /** The width of a logo that is 32 px high, so that the page keeps room for it. One whose size is unknown counts as square. */
  logoWidth(picture?: Picture): number
  themeColour(): SchemeColours
}

/** The properties of `it` in every template, apart from `model` and `choices`. */
const templateGlobals = (
  pages: Pages,
  { asset, picture, logoWidth, themeColour }: Paths,
  dictionary: Dictionary,
) => {
  const text = createText(dictionary)
  const { name, links } = pages
  const { light, dark } = logoPair(pages)
  return {
    language: dictionary.language,
    direction: dictionary.direction,
    text: text.html,
    plain: text.plain,
    hasText: text.has,
    number: text.number,
    duration: text.duration,
    ago: text.ago,
    time: text.time,
    date: text.date,
    brand: {
      name,
      // Read for each page: in development the file may have changed.
      get logo() {
        return { light: light && picture(light), dark: dark && picture(dark) }
      },
      get logoWidth() {
        return { light: logoWidth(light), dark: logoWidth(dark) }
      },
      logoHasName: pages.logoHasName,
      colourScheme: pages.scheme === 'auto' ? 'light dark' : pages.scheme,
      get themeColour() {
        return themeColour()
      },
      home: hostLink(pages.home),
      help: helpLink(links.help),
      privacy: hostLink(links.privacy),
      terms: hostLink(links.terms),
    },
    asset,
    webLink,
    httpsLink,
    mailLink,
    ownUrl,
    verbatim,
    address,
    initials,
    tint,
  }
}

/**
 * Creates the pages with the host's name and look.
 *
 * @param options.pages the host's option; its `views` is a folder whose templates, partials and assets replace Latchkey's files of the same name;
 *   its `assets/theme.css` is appended to the stylesheet instead
 * @param options.pictures other files that pages show, apart from the logo
 * @param options.partials names of the host's own templates that pages include
 * @param options.folders folders with templates of the host's own features
 * @param options.basePath path of the mount, `''` for the root
 * @param options.languages languages of the pages; by default Latchkey's own
 * @param options.cache false reads templates and assets again for each page; the default with `views`
 * @throws Error when the folder does not exist, a template does not compile, or the layout lacks what pages need
 */
export const createViews = (options: {
  pages: Pages
  pictures?: readonly Picture[]
  partials?: readonly string[]
  folders?: readonly URL[]
  basePath: string
  languages?: Languages
  cache?: boolean
}): Views => {
  const { pages, basePath, partials = [], folders = [] } = options
  const directory = pages.views
  const own = [...viewFolders, ...folders.map((folder) => fileURLToPath(folder))]
  const directories = directory === undefined ? own : [resolve(directory), ...own]
  const cache = options.cache ?? directory === undefined
  const engine = createEngine(directories, cache)
  const { light, dark } = logoPair(pages)
  const fonts = facesOf(pages).map(({ file }) => file)
  const files = [light, dark, ...fonts, ...(options.pictures ?? [])].filter((file) => file instanceof URL)
  const read = () => readAssets({ own: viewFolders, host: directory, brand: pages, files })
  const kept = read()
  const assets = () => (cache ? kept : read())
  const asset = (name: string): Asset | undefined => assets().get(name)
  const assetPath = (name: string): string =>
    `${basePath}/assets/${name}?v=${asset(name)?.etag.replaceAll('"', '') ?? ''}`
  const picture = (given: Picture): string | undefined => {
    if (!(given instanceof URL)) return ownPathOf(given)
    const name = servedName(given)
    return asset(name) && assetPath(name)
  }
  const logoWidth = (given?: Picture): number => {
    const size = given instanceof URL ? asset(servedName(given))?.size : undefined
    return size ? Math.round((32 * size.width) / size.height) : 32
  }
  const themeColour = (): SchemeColours => {
    const { light, dark } = surfacesOf(asset('theme.css')?.body.toString() ?? '')
    return pages.scheme === 'auto' ? { light, dark } : { light: (pages.scheme === 'dark' && dark) || light }
  }
  const paths = { asset: assetPath, picture, logoWidth, themeColour }
  const languages = options.languages ?? createLanguages({ pages, scopes: {} })
  const globals = new Map(
    languages.tags.map((tag) => [tag, templateGlobals(pages, paths, languages.dictionary(tag))]),
  )
  const forOperators = templateGlobals(pages, paths, languages.operators)
  const globalsOf = (page: PageName, language: string) =>
    isOperatorPage(page) ? forOperators : globals.get(language)
  if (directory !== undefined) {
    compileAll(engine, [...ownTemplates(), ...partials])
    assertLayout(engine, { ...globals.get(languages.default), icons: new Set(), ...probe })
  } else compileAll(engine, partials)
  const renderWith =
    (templates: Eta): Views['render'] =>
    (page, model, { language = languages.default, choices = [] } = {}) =>
      templates.render(page, { ...globalsOf(page, language), icons: new Set(), choices, page, model })
  return {
    asset,
    hasFonts: () => fonts.length > 0 || [...assets().values()].some(({ type }) => type.startsWith('font/')),
    picture,
    render: renderWith(engine),
    renderBuiltIn: directory === undefined ? undefined : renderWith(createEngine(own, cache)),
  }
}
