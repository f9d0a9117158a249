/** Checks the documentation against the code: links, anchors, snippets that parse, tables that list what exists. */
import { deepStrictEqual, ok } from 'node:assert'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseSync } from '@swc/core'
import { everyFeature } from '../lib/features/every.ts'
import {
  admin,
  authenticatorApps,
  developers,
  device,
  passkeys,
  personalAccessTokens,
  pushedRequests,
  registration,
} from '../lib/features/index.ts'
import { resolveOptions } from '../lib/options/resolve.ts'
import { clientMetadataNames } from '../lib/protocol/clients/client-metadata.ts'
import { errorStatuses } from '../lib/protocol/errors.ts'
import { reasons } from '../lib/protocol/texts/reasons.ts'
import { activeFeatures } from '../lib/router.ts'
import { loadTools } from '../lib/tools/cli/tools.ts'
import { allChecks } from '../lib/tools/doctor/index.ts'
import { attacks } from '../lib/tools/testing/attacks/index.ts'
import { attackOptions } from '../lib/tools/testing/options.ts'
import { createEndpoints } from '../lib/web/endpoints/index.ts'
import { ownTemplates } from '../lib/web/pages/template-version.ts'
import { errorPage } from './error-docs.ts'
import { optionFiles } from './option-docs.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const isMarkdown = (name: string): boolean => name.endsWith('.md')
const pages = [
  ...readdirSync(root).filter(isMarkdown),
  'example-app/README.md',
  'bench/README.md',
  'test/CONFORMANCE.md',
  'test/CONFORMANCE-HOST.md',
  'test/FAPI2.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(isMarkdown)
    .map((name) => `docs/${name}`),
]
const recipes = pages.filter((page) => /^docs\/recipes\/[a-z-]+\.md$/.test(page))

const fences = /^```(\w*)\n([\s\S]*?)^```$/gm
const prose = (file: string): string => read(file).replaceAll(fences, '')
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group = '']) => group)

/** The part of a page below a heading, up to the next heading. */
const section = (file: string, heading: string): string => {
  const pattern = new RegExp(`^#+ ${heading}\\n([\\s\\S]*?)(?=^#+ |(?![\\s\\S]))`, 'm')
  const [, text] = pattern.exec(read(file)) ?? []
  ok(text !== undefined, `${file} has no heading ${heading}`)
  return text
}

/** GitHub's anchors of the headings. */
const anchorsOf = (file: string): string[] =>
  all(prose(file), /^#+ (.*)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

const isBroken = (file: string, link: string): boolean => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : join(dirname(file), path)
  if (!existsSync(join(root, target))) return true
  return anchor !== undefined && !anchorsOf(target).includes(anchor)
}

const sameSet = (shown: readonly string[], expected: readonly string[]): void =>
  deepStrictEqual([...shown].sort(), [...expected].sort())

const checkPage = (file: string): void => {
  const links = [...prose(file).matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)]
    .map(([, one, other]) => one ?? other ?? '')
    .filter((link) => !/^https?:/.test(link))
  const broken = links.filter((link) => isBroken(file, link))
  deepStrictEqual(broken, [], 'broken links')
  for (const [, language = '', code = ''] of read(file).matchAll(fences)) {
    if (!['js', 'ts'].includes(language) || code.includes('…')) continue
    parseSync(code, { syntax: 'typescript', target: 'es2022', decorators: true })
  }
}

/** The tests of recipes take files by their names, and parts of files. */
const checkRecipe = (page: string): void => {
  const snippets = [...read(page).matchAll(fences)].filter(([, language = '']) => /^[jt]s$/.test(language))
  const unnamed = snippets.filter(([, , code = '']) => !/^\/\/ (in )?[\w./-]+\.[cm]?[jt]s\n/.test(code))
  deepStrictEqual(
    unnamed.map(([text]) => text),
    [],
    'snippets without the name of a file',
  )
  const tests = readdirSync(join(root, 'test/recipes')).map((name) => read(`test/recipes/${name}`))
  ok(
    tests.some((test) => test.includes(`'${page}'`)),
    `no test of ${page}`,
  )
  ok(
    read('docs/recipes/README.md').includes(`](${page.slice('docs/recipes/'.length)})`),
    `no link to ${page}`,
  )
}

/** Options with which every feature is on. */
const everyOption = () =>
  resolveOptions({
    database: { client: 'better-sqlite3', connection: { filename: ':memory:' } },
    secrets: ['a secret that is long enough for this'],
    scopes: { notes: { description: 'See your notes' } },
    features: [
      admin({ allow: () => true }),
      developers({ allow: () => true }),
      passkeys(),
      authenticatorApps(),
      registration(),
      device(),
      pushedRequests(),
      personalAccessTokens({ scopes: ['notes'] }),
    ],
  })

const checkErrors = (): void => {
  deepStrictEqual(read('docs/errors.md'), errorPage())
  sameSet(Object.keys(reasons), Object.keys(errorStatuses))
}

/** The names of all commands of `latchkey`. */
const commandNames = (): string[] => {
  const files = ['lib/tools/cli', 'lib/features'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  )
  const sources = files.map(read)
  const names = sources.flatMap((source) => all(source, /^ {2}name: '([^']+)',\n {2}summary:/gm))
  ok(names.includes('client create'))
  return names
}

/** A command that does not exist is found in all pages. */
const checkCommands = (): void => {
  const page = read('docs/cli.md')
  const missing = commandNames().filter((name) => !new RegExp(`^npx latchkey ${name}(?: |$)`, 'm').test(page))
  deepStrictEqual(missing, [], 'commands without an example')
}

/** The tests that a page names exist. Returns how many there are. */
const checkTitles = (page: string): number => {
  const named = [...read(page).matchAll(/\]\(([^)]+\.test\.ts)\): “([^”]+)”/g)]
  for (const [, link = '', title = ''] of named) {
    const file = join(dirname(page), link)
    ok(read(file).replace(/\s+/g, ' ').includes(title), `${file} has no test “${title}”`)
  }
  return named.length
}

/** A database that does not answer is found before any check. */
const doctorChecks = [
  ...(await allChecks()),
  ...(await loadTools(everyFeature.keys())).flatMap(({ mountChecks = [] }) => mountChecks),
]

const checkDoctor = (): void => {
  const items = all(section('docs/doctor.md', 'Checks'), /^- ([^:]+):/gm)
  const shown = items.flatMap((item) => all(item, /`([\w-]+)`/g))
  sameSet(shown, ['database', ...doctorChecks.map(({ id }) => id)])
}

/** The parts of each string and template in a source, between the places where values are inserted. */
const literalsIn = (file: string): string[][] => {
  const found: string[][] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, value, quasis } = node as { type?: string; value?: string; quasis?: { cooked: string }[] }
    if (type === 'StringLiteral' && value !== undefined) found.push([value])
    if (type === 'TemplateLiteral' && quasis) found.push(quasis.map(({ cooked }) => cooked))
    Object.values(node).forEach(walk)
  }
  walk(parseSync(read(file), { syntax: 'typescript', target: 'es2022' }))
  return found
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Whether one text of a source has every piece of a message, in which … stands for a value. */
const isIn = (sources: readonly (readonly string[])[], message: string): boolean => {
  const pieces = message.split('…').filter((piece) => piece.trim().length > 2)
  return (
    pieces.length > 0 &&
    sources.some((parts) => pieces.every((piece) => parts.some((part) => part.includes(piece))))
  )
}

/** Whether a source has this message, perhaps in two texts, one inserted into the other. */
const isSaid = (sources: readonly (readonly string[])[], message: string): boolean =>
  isIn(sources, message) ||
  sources.some((parts) => {
    const [, inserted] = new RegExp(`^${parts.map(escaped).join('(.+)')}$`).exec(message) ?? []
    if (parts.length !== 2 || inserted === undefined) return false
    // A name is inserted at the start, a reason at the end.
    return parts[0] === '' ? message.length < 2 * parts.join('').length : isIn(sources, inserted)
  })

/** What a developer sees is in the first column; messages are code, and texts of pages are in quotation marks. MCP clients have words of their own. */
const checkSymptoms = (): void => {
  const cells = all(section('docs/errors.md', 'Symptoms'), /^\| (?!MCP)(.+?) \|/gm)
  const sources = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => literalsIn(`lib/${name}`))
  const ofOthers = [
    'SQLITE_BUSY',
    'KnexTimeoutError',
    'SyntaxError: Unexpected token',
    'prepared statement … does not exist',
  ]
  const messages = cells.flatMap((cell) => all(cell, /`([^`]+)`/g)).filter((each) => !ofOthers.includes(each))
  ok(messages.length > 10)
  const unknown = messages.filter((message) => !/^[/{]|^exp$/.test(message) && !isSaid(sources, message))
  deepStrictEqual(unknown, [], 'messages that no source has')
  const texts = read('lib/web/pages/i18n/locales/en.ts')
  deepStrictEqual(
    cells.flatMap((cell) => all(cell, /“([^”]+)”/g)).filter((text) => !texts.includes(`'${text}'`)),
    [],
    'texts that no page has',
  )
}

/** A page below another one needs no row of its own. */
const checkEndpoints = (): void => {
  const options = everyOption()
  const paths = Object.values(createEndpoints(activeFeatures(options)))
    .flat()
    .flatMap(({ path }) => all(path, /^(\/[\w.-]+)/g))
  ok(paths.length > 30)
  const rows = section('docs/endpoints.md', 'Endpoints')
  deepStrictEqual(
    paths.filter((path) => !rows.includes(path)),
    [],
    'paths without a row',
  )
}

/** The names of the members of an interface. */
const membersOf = (file: string, name: string): string[] => {
  const [, body = ''] =
    new RegExp(`^export interface ${name}\\b[^{]*{\\n([\\s\\S]*?)^}`, 'm').exec(read(file)) ?? []
  const members = all(body, /^ {2}(?:readonly )?(\w+)[(:?]/gm)
  ok(members.length > 1, `${file} has no interface ${name}`)
  return members
}

/** The names before the colon of each item of a list, without their parameters. */
const namesOfItems = (text: string): string[] =>
  all(text, /^- ((?:`[^`]+`(?:, )?)+)/gm).flatMap((names) => all(names, /`([\w-]+)[^`]*`/g))

/** What features add to the router. */
const membersOfFeatures = (): string[] =>
  readdirSync(join(root, 'lib/features'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => all(read(`lib/features/${name}`), /^export interface With\w+ \{\n([\s\S]*?)^\}/gm))
    .flatMap((body) => all(body, /^ {2}readonly (\w+)/gm))

/** The router and the objects on it, by the sections of the page about them. */
const checkApi = (): void => {
  const parts = [
    ['authRouter', [...membersOf('lib/router.ts', 'AuthRouter'), ...membersOfFeatures()]],
    ['users', membersOf('lib/users/account/user-lifecycle.ts', 'UserLifecycle')],
    ['clients', membersOf('lib/oauth/clients/administration.ts', 'ClientAdministration')],
  ] as const
  for (const [heading, members] of parts) sameSet(namesOfItems(section('docs/api.md', heading)), members)
}

/** Every page is in the index, except the recipes, which have their own. */
const checkIndex = (): void => {
  const index = read('docs/README.md')
  const listed = pages.filter((page) => /^docs\/[a-z0-9-]+\.md$/.test(page))
  const missing = listed.filter((page) => !index.includes(`](${page.slice('docs/'.length)})`))
  deepStrictEqual(missing, [], 'pages that docs/README.md does not list')
}

/** Files and names of the code, which move. */
const checkInternals = (): void => {
  const page = read('docs/internals.md')
  const places = ['', 'lib/', 'lib/protocol/', 'lib/storage/repositories/', 'lib/features/personal-tokens/']
  const named = all(page, /`([\w-][\w./-]*(?:\/|\.ts))`/g)
  // A test run writes these; a clean checkout does not have them.
  const written = read('.gitignore').split('\n')
  const missing = named.filter(
    (name) => !written.includes(name) && !places.some((place) => existsSync(join(root, place + name))),
  )
  deepStrictEqual(missing, [], 'files of docs/internals.md that do not exist')
  const code = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`lib/${name}`))
    .join('\n')
  const steps = all(page, /^(\d\. `(?:lib|migrations)\/.*)$/gm)
  const unknown = steps
    .flatMap((step) => all(step, /`([a-zA-Z]+)`/g))
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(code))
  deepStrictEqual(unknown, [], 'names of docs/internals.md that lib does not have')
}

const checkThreats = (): void => {
  const security = read('SECURITY.md')
  const sections = all(security, /^\| ([0-9., ]+) \|/gm).flatMap((list) => list.split(', '))
  const missing = Array.from({ length: 17 }, (_, index) => `4.${index + 1}`).filter(
    (each) => !sections.includes(each),
  )
  deepStrictEqual(missing, [], 'threats of RFC 9700 §4 without an attack')
  ok(checkTitles('SECURITY.md') > 35)
}

/** A command that any page names exists. */
const checkNamedCommands = (): void => {
  const names = commandNames()
  const unknown = pages
    .filter((page) => page !== 'CHANGELOG.md')
    .flatMap((page) =>
      all(read(page), /(?:npx |`)latchkey ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/g)
        .filter(
          (named) =>
            !names.some((name) => `${name} `.startsWith(`${named} `) || named.split(' ')[0] === name),
        )
        .map((named) => `${page}: latchkey ${named}`),
    )
  deepStrictEqual(unknown, [], 'commands that do not exist')
}

/** An option that any page names in `protocol` or in the call of a feature exists. The page about moving names those of other servers too. */
const checkNamedOptions = (): void => {
  const options = read('docs/options.md')
  const unknown = pages
    .filter((page) => page !== 'docs/moving.md' && page !== 'CHANGELOG.md')
    .flatMap((page) =>
      [...all(read(page), /`protocol\.(\w+)/g), ...all(read(page), /`(\w+)\(\{ \w+ \}\)`/g)]
        .filter((name) => !new RegExp(`\\b${name}\\b`).test(options))
        .map((name) => `${page}: ${name}`),
    )
  deepStrictEqual(unknown, [], 'options that do not exist')
}

/** The pages that each reader needs until production, in their order. */
const paths: Readonly<Record<string, readonly string[]>> = {
  'sign in with your product': [
    'README.md',
    'docs/start/sign-in.md',
    'docs/recipes/orms.md',
    'docs/production.md',
  ],
  'an API for other people’s apps': [
    'README.md',
    'docs/start/partners.md',
    'docs/recipes/passport.md',
    'docs/production.md',
  ],
  'an MCP server': ['README.md', 'docs/mcp.md', 'docs/production.md'],
  operation: ['docs/production.md', 'docs/operation.md', 'docs/upgrading.md', 'docs/scaling.md'],
}

/** What a reader of pages meets: words outside code, and links. */
const sizeOf = (files: readonly string[]): { pages: number; words: number; links: number } => {
  const text = files.map(prose).join('\n')
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
  return { pages: files.length, words: words.length, links: text.split('](').length - 1 }
}

const checkPaths = (): void => {
  const tooLong = Object.entries(paths)
    .map(([name, files]) => ({ name, ...sizeOf(files) }))
    .filter(({ pages, words, links }) => pages > 4 || words > 3500 || links > 40)
  deepStrictEqual(tooLong, [], 'paths with more than 4 pages, 3,500 words or 40 links')
}

/** A default stands in the row of its option, unless the page explains it once or the option around it has it. */
const checkDefaults = (): void => {
  const options: { path: string; default?: string }[] = JSON.parse(read('docs/options.json'))
  const once = ['none', 'off', '`false`', '`{}`', '`[]`', undefined]
  const withDefault = options.filter(
    ({ path, default: given }) => !once.includes(given) && !/^pages\.(logo|font)\.|\.locales\./.test(path),
  )
  ok(withDefault.length > 80)
  // The items of a feature are below its function, so that each stands as its path says.
  let call = ''
  const named = new Set(
    [...read('docs/options.md').matchAll(/^( *)- \[?`([^`]+)`(?:\]\([^)]+\))?( \(.+?\))?: /gm)].flatMap(
      ([, indent, name = '', inBrackets]) => {
        if (indent === '') call = name
        const path =
          indent === '' ? name : name.replace(/^\w+/, (member) => call.replace('()', `({ ${member} })`))
        return inBrackets === undefined ? [] : [path]
      },
    ),
  )
  const missing = withDefault
    .map(({ path }) => path)
    .filter((path) => !named.has(path) && !named.has(path.replace(/^\w+\.(\*\.)?/, '')))
  deepStrictEqual(missing, [], 'options of docs/options.md without their defaults')
}

const checkCells = (): void => {
  const empty = pages
    .filter((page) => page.startsWith('docs/'))
    .flatMap((page) =>
      all(prose(page), /^(\|(?:.*\|)? *\|.*)$/gm).map((row) => `${page}: ${row.slice(0, 60)}`),
    )
  deepStrictEqual(empty, [], 'empty cells')
}

const checks: Readonly<Record<string, () => void>> = {
  'tables of docs have no empty cells': checkCells,
  'docs/options.md shows the default of each option': checkDefaults,
  'each path to production is short': checkPaths,
  'pages name commands that exist': checkNamedCommands,
  'pages name options that exist': checkNamedOptions,
  'docs/options.md and docs/options.json are those of the schema (npm run docs:options)': () => {
    for (const [file, text] of Object.entries(optionFiles())) deepStrictEqual(read(file), text)
  },
  'docs/doctor.md lists every check and no other': checkDoctor,
  'docs/errors.md is that of the list of reasons (npm run docs:options)': checkErrors,
  'docs/README.md lists every page': checkIndex,
  'docs/endpoints.md names every path': checkEndpoints,
  'docs/api.md lists every member of the router': checkApi,
  'docs/errors.md quotes messages that exist': checkSymptoms,
  'docs/clients.md lists every field of a client and no other': () =>
    sameSet(
      all(section('docs/clients.md', 'Client metadata'), /^- ([^:(]+)/gm).flatMap((names) =>
        all(names, /`(\w+)`/g),
      ),
      ['client_id', 'client_secret', ...clientMetadataNames],
    ),
  'docs/pages.md lists every template and every custom property': () => {
    const isPage = (name: string): boolean => !name.startsWith('partials/')
    sameSet(namesOfItems(section('docs/pages.md', 'Templates')), ownTemplates().filter(isPage))
    const [root = ''] = all(read('views/assets/style.css'), /^:root \{([^}]*)\}/gm)
    // Those of the discs with initials follow from the name.
    const properties = all(root, /^ {2}(--[\w-]+):/gm).filter((name) => !name.startsWith('--disc'))
    sameSet(namesOfItems(section('docs/pages.md', 'Colours')), properties)
  },
  'docs/cli.md has an example of each command': checkCommands,
  'docs/testing.md lists every option of attack() and how many attacks there are': () => {
    deepStrictEqual(
      namesOfItems(section('docs/testing.md', 'Attack your own mount')),
      Object.keys(attackOptions.members),
    )
    ok(read('docs/testing.md').includes(`${attacks.length} attacks`))
  },
  'SECURITY.md names existing attacks for every threat': checkThreats,
  'docs/own-code.md names existing tests': () => ok(checkTitles('docs/own-code.md') > 10),
  'test/FAPI2.md names existing tests': () => ok(checkTitles('test/FAPI2.md') > 30),
  'docs/internals.md names what exists': checkInternals,
  'CONTRIBUTING.md has at most 700 words': () => ok(read('CONTRIBUTING.md').split(/\s+/).length <= 700),
  'README.md has at most 650 words': () => ok(read('README.md').split(/\s+/).length <= 650),
  ...Object.fromEntries(pages.map((file) => [`${file}: links and snippets`, () => checkPage(file)])),
  ...Object.fromEntries(
    recipes.map((page) => [`${page}: named files, and a test of them`, () => checkRecipe(page)]),
  ),
}

for (const [name, check] of Object.entries(checks)) {
  try {
    check()
  } catch (error) {
    console.error(`${name}\n${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
