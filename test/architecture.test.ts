import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import {
  type Graph,
  importGraph,
  importsOf,
  loadedBy,
  paths,
  sources,
  withoutComments,
  withoutStrings,
} from './sources.ts'

/**
 * The floors, top to bottom: a place imports itself and what stands above it. A place is a folder or file of lib/, or below a
 * folder that has several floors.
 */
const floors = [
  ['protocol', 'migrations', 'events/tracing'],
  ['options'],
  ['storage/database'],
  ['storage/repositories'],
  ['keys', 'users/passwords'],
  ['users', 'events', 'limits', 'outbound', 'web/pages'],
  ['oauth/clients', 'oauth/extension-point'],
  ['oauth/authorization-server'],
  ['oauth/choices'],
  ['oauth/tokens'],
  ['oauth/grants', 'oauth/client-authentication'],
  ['web/http'],
  ['web/sessions'],
  ['oauth/authorization'],
  ['users/account'],
  ['web/endpoints'],
  ['tools/command', 'tools/check', 'tools/assessment'],
  ['features/feature'],
  ['features'],
  ['guard', 'storage/schema'],
  ['tools/seed', 'tools/doctor'],
  ['router'],
  ['tools/import', 'tools/samples'],
  ['tools/preview'],
  ['tools/cli', 'tools/testing'],
  ['index'],
]

/** Tools beside the server, which never loads them. Of doctor it loads only what warns at the start. */
const tools = ['cli', 'testing', 'import', 'samples', 'preview'].map((name) => `tools/${name}`)
const loadedOfDoctor = [
  'clients',
  'configuration',
  'database',
  'diagnosis',
  'second-factor',
  'start',
  'users',
]

/** Packages that one part of the code owns, each with the beginnings of the paths that may import it. */
const owners: Readonly<Record<string, readonly string[]>> = {
  knex: ['lib/storage/', 'lib/users/', 'migrations/', 'lib/tools/cli/', 'lib/tools/import/'],
  jose: ['lib/keys/'],
  express: ['lib/web/http/', 'lib/web/endpoints/', 'lib/router'],
  eta: ['lib/web/pages/views'],
  'express-session': ['no file: only hosts have it'],
}

/** It writes programs of the host, which import `latchkey` and have a default export. */
const writer = 'lib/tools/cli/commands/init.ts'

/** What a line of code may not do, and where it may after all. */
const forbidden: readonly { what: string; pattern: RegExp; unless?: RegExp }[] = [
  {
    what: 'touches req.session',
    pattern: /(?<!\boptions\??)\.session\b/,
    unless: /^lib\/web\/sessions\/host-session\.ts$/,
  },
  { what: 'touches req.session', pattern: /\{[^{}]*\bsession\b[^{}]*\}\s*=\s*req/ },
  {
    what: 'touches req.session',
    pattern: /Reflect\.get\(req, /,
    unless: /^lib\/web\/sessions\/host-session\.ts$/,
  },
  { what: 'keeps module-level state', pattern: /^(export )?(let|var) /m },
  { what: 'keeps module-level state', pattern: /^(export )?const .*=\s*new (Map|Set)(<.*>)?\(\)/m },
  { what: 'keeps module-level state', pattern: /^(export )?const .*=\s*new Weak(Map|Set)\b/m },
  { what: 'has a default export', pattern: /^export default\b|\bas default\b/m, unless: new RegExp(writer) },
  { what: 'redirects to a page without a fragment', pattern: /\bsendRedirect\([^)]*ownPath\(/ },
  {
    what: 'redirects to a page without a fragment',
    pattern: /\bsendRedirect\((?![^)]*ownPath\()/,
    // These two redirect to clients; all others use redirectToPage().
    unless: /^lib\/(web\/http\/redirect|oauth\/authorization\/response|web\/endpoints\/logout)\.ts$/,
  },
  {
    what: 'reads a clock or the environment',
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\./,
    unless: /^(?!lib\/protocol\/)/,
  },
]

/** Tools of a feature, which the server never loads: they stand beside the command line. */
const featureTools = /^lib\/features\/[^/]+\/(?:tools|commands|samples|checks)\.ts$/
const places = floors.flat().sort((one, other) => other.length - one.length)
const placeOf = (path: string) => {
  if (featureTools.test(path)) return 'tools/cli'
  const name = path.replace(/^lib\//, '').replace(/\.ts$/, '')
  return places.find((place) => name === place || name.startsWith(`${place}/`)) ?? path
}
const floorOf = (path: string) => floors.findIndex((floor) => floor.includes(placeOf(path)))
const featureOf = (path: string) => /^lib\/features\/([^/]+)\//.exec(path)?.[1]

const packageOf = (name: string) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name

function importViolation(file: string, { name, typeOnly }: { name: string; typeOnly: boolean }) {
  if (name === 'latchkey' && file === writer) return undefined
  if (name === 'latchkey' || /^\.\.?\//.test(name)) {
    const target = name === 'latchkey' ? 'lib/index.ts' : posix.join(posix.dirname(file), name)
    if (!/^(lib|migrations)\//.test(target)) return `${file} imports ${name}, outside lib and migrations`
    const [feature, other] = [featureOf(file), featureOf(target)]
    if (feature && other && feature !== other) return `${file} imports ${name}, of another feature`
    // A feature loads its tools for those that ask for them.
    if (feature && featureTools.test(target)) return undefined
    if (placeOf(target) === placeOf(file)) return undefined
    if (floorOf(target) >= 0 && floorOf(target) < floorOf(file)) return undefined
    return `${file} imports ${name}, which is not on a floor above it`
  }
  const places = owners[packageOf(name)]
  if (typeOnly || !places || places.some((place) => file.startsWith(place))) return undefined
  return `${file} imports ${name}, which belongs to ${places.join(', ')}`
}

/** Every breach of the floors in these files (path → source), as sentences that name the file and the import. */
function violations(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([file, source]) => {
    if (floorOf(file) < 0) return [`${file} stands on no floor`]
    const code = withoutComments(source)
    const bare = withoutStrings(code)
    const broken = forbidden.filter(({ pattern, unless }) => pattern.test(bare) && !unless?.test(file))
    return [
      ...importsOf(code).flatMap((found) => importViolation(file, found) ?? []),
      ...new Set(broken.map(({ what }) => `${file} ${what}`)),
    ]
  })
}

/** The shortest chain of imports that leads from a file back to it. */
function circleThrough(file: string, graph: Graph): readonly string[] | undefined {
  const chains = [[file]]
  const seen = new Set<string>()
  for (const chain of chains) {
    const last = chain.at(-1) ?? file
    if (last === file && chain.length > 1) return chain
    if (seen.has(last)) continue
    seen.add(last)
    chains.push(...(graph.get(last) ?? []).map((next) => [...chain, next]))
  }
  return undefined
}

/** Import circles, one for each group of files that import each other. */
function circles(files: ReadonlyMap<string, string>): string[] {
  const graph = importGraph(files, { types: true })
  const reported = new Set<string>()
  return [...files.keys()].sort().flatMap((file) => {
    const circle = reported.has(file) ? undefined : circleThrough(file, graph)
    for (const member of circle ?? []) reported.add(member)
    return circle ? [circle.join(' → ')] : []
  })
}

/** The files of tools that a host loads with `latchkey`. */
const loadedTools = (files: ReadonlyMap<string, string>): string[] =>
  loadedBy('lib/index.ts', files).filter(
    (file) =>
      tools.includes(placeOf(file)) ||
      (placeOf(file) === 'tools/doctor' &&
        !loadedOfDoctor.some((name) => file === `lib/tools/doctor/${name}.ts`)),
  )

test('lib and migrations keep to the floors', () => {
  expect(paths).toContain('lib/options/options.ts')
  expect(violations(sources)).toEqual([])
})

test('the server loads no tool that stands beside it', () => {
  expect(loadedBy('lib/index.ts', sources)).toContain('lib/web/endpoints/token.ts')
  expect(loadedTools(sources)).toEqual([])
})

test('an API with `latchkey/guard` loads neither Express nor Knex', () => {
  const packages = loadedBy('lib/guard/index.ts', sources).flatMap((file) =>
    importsOf(withoutComments(sources.get(file) ?? ''))
      .filter(({ name, typeOnly }) => !typeOnly && !name.startsWith('.') && !name.startsWith('node:'))
      .map(({ name }) => packageOf(name)),
  )
  expect([...new Set(packages)].sort()).toEqual(['fastest-levenshtein'])
})

test('a tool that the server loads through another file is found', () => {
  const files = {
    'lib/index.ts': `export { authRouter } from './router.ts'`,
    'lib/router.ts': `import type { Sample } from './tools/samples/sample.ts'\nimport './tools/doctor/start.ts'`,
    'lib/tools/doctor/start.ts': `import './requests.ts'\nimport './clients.ts'`,
    'lib/tools/doctor/requests.ts': `const load = () => import('../import/presets/index.ts')`,
    'lib/tools/doctor/clients.ts': '',
    'lib/tools/import/presets/index.ts': '',
    'lib/tools/samples/sample.ts': '',
  }
  expect(loadedTools(new Map(Object.entries(files)))).toEqual([
    'lib/tools/doctor/requests.ts',
    'lib/tools/import/presets/index.ts',
  ])
})

test('the token type is written in one place, so that another binding is one line', () => {
  const written = [...sources].filter(([, source]) => /(['"`])Bearer\b/.test(withoutComments(source)))
  const server = written.map(([path]) => path).filter((path) => !path.startsWith('lib/tools/testing/'))
  expect(server).toEqual(['lib/protocol/tokens/token-binding.ts'])
})

test('only these files write to a terminal, so that no other text reaches it as it is (L16)', () => {
  const writers = [...sources].filter(([, source]) =>
    /\b(?:process\.(?:stdout|stderr)|console)\b(?!\.x\.ai)/.test(withoutComments(source)),
  )
  const ofServer = writers.map(([path]) => path).filter((path) => !path.startsWith('lib/tools/testing/'))
  expect(ofServer.sort()).toEqual([
    'lib/options/server.ts',
    'lib/tools/cli/index.ts',
    'lib/tools/cli/progress.ts',
    'lib/tools/cli/terminal.ts',
    'lib/tools/seed.ts',
  ])
})

/** Words by which shipped code could tell that a test runs it. */
const signsOfTests =
  /webdriver|headless|playwright|puppeteer|selenium|JEST_WORKER_ID|\bnpm_lifecycle|NODE_ENV\s*[!=]==?\s*['"`]test/i
const shipped = ['lib', 'views', 'migrations', 'types']
  .flatMap((folder) =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => posix.join(folder, file))
      : [],
  )
  .filter((file) => /\.(?:ts|js|cjs|mjs|eta|css)$/.test(file))

test('nothing that is shipped, pages and their scripts included, behaves otherwise under test', () => {
  expect(shipped.some((file) => /second-clicks|form-guard|\.eta$/.test(file))).toBe(true)
  expect(shipped.filter((file) => signsOfTests.test(readFileSync(file, 'utf8')))).toEqual([])
})

test.each(['if (navigator.webdriver) return', 'process.env.JEST_WORKER_ID', "NODE_ENV === 'test'"])(
  'code that would is found: %s',
  (code) => {
    expect(code).toMatch(signsOfTests)
  },
)

test('the floors name only what exists', () => {
  const places = new Set(paths.map(placeOf))
  expect(floors.flat().filter((place) => !places.has(place))).toEqual([])
})

test('no folder has more files than one can take in', () => {
  const folders = [...sources.keys()].map((path) => posix.dirname(path))
  const crowded = folders.filter((folder) => folders.filter((other) => other === folder).length > 24)
  expect([...new Set(crowded)]).toEqual([])
})

test('no file of lib imports itself, directly or through others', () => {
  expect(circles(sources)).toEqual([])
})

describe('a circle is found', () => {
  const consent = 'lib/protocol/requests/consent.ts'
  const name = 'authorization-request.ts'
  const request = `lib/protocol/requests/${name}`
  test.each<[string, Record<string, string>, string]>([
    [
      'of two files',
      { [consent]: `import { a } from './authorization-request.ts'`, [request]: `import './consent.ts'` },
      `${request} → ${consent} → ${request}`,
    ],
    [
      'of types alone',
      { [consent]: `import type { A } from './${name}'`, [request]: `export type { B } from './consent.ts'` },
      `${request} → ${consent} → ${request}`,
    ],
    [
      'across folders, with a type in an expression',
      {
        'lib/a/one.ts': `export * from '../b/two.ts'`,
        'lib/b/two.ts': `const load = () => import('../router.ts')`,
        'lib/router.ts': `let x: import('./a/one.ts').One`,
      },
      'lib/a/one.ts → lib/b/two.ts → lib/router.ts → lib/a/one.ts',
    ],
    ['of one file', { [consent]: `import { a } from './consent.ts'` }, `${consent} → ${consent}`],
  ])('%s', (_case, files, circle) => {
    expect(circles(new Map(Object.entries(files)))).toEqual([circle])
  })

  test('and shared imports are none', () => {
    const files = {
      'lib/index.ts': `import './one.ts'\nimport './two.ts'`,
      'lib/one.ts': `import { x } from './three.ts'`,
      'lib/two.ts': `import { x } from './three.ts'\n// import './index.ts'`,
      'lib/three.ts': `import { Router } from 'express'`,
    }
    expect(circles(new Map(Object.entries(files)))).toEqual([])
  })
})

describe('the checker refuses', () => {
  test.each([
    [
      'lib/protocol/scope.ts',
      `import { a } from '../storage/repositories/clients.ts'`,
      '../storage/repositories/clients.ts',
    ],
    ['lib/keys/jwt.ts', `import type { Grant } from '../oauth/grants/grant.ts'`, '../oauth/grants/grant.ts'],
    [
      'lib/oauth/tokens/id-token.ts',
      `import {\n  a,\n  type B,\n} from '../../web/http/send.ts'`,
      '../../web/http/send.ts',
    ],
    [
      'lib/oauth/tokens/id-token.ts',
      `import a, * as b from '../../web/http/send.ts'`,
      '../../web/http/send.ts',
    ],
    ['lib/oauth/grants/index.ts', `export * from '../../web/http/send.ts'`, '../../web/http/send.ts'],
    [
      'lib/oauth/grants/index.ts',
      `export type A = B\n\nexport { x } from '../../web/http/send.ts'`,
      '../../web/http/send.ts',
    ],
    ['lib/web/http/send.ts', `import '../../router.ts'`, '../../router.ts'],
    ['lib/web/http/send.ts', `const load = () => import('../endpoints/token.ts')`, '../endpoints/token.ts'],
    [
      'lib/oauth/grants/grant.ts',
      `import { none } from '../client-authentication/index.ts'`,
      '../client-authentication/index.ts',
    ],
    ['lib/router.ts', `import { authRouter } from 'latchkey'`, 'latchkey'],
    ['migrations/clients.ts', `import { now } from '../lib/protocol/time.ts'`, '../lib/protocol/time.ts'],
    ['lib/web/http/send.ts', `import { x } from '../../../test/support/services.ts'`, 'outside lib'],
    [
      'lib/users/account/user-records.ts',
      `import { a } from '../../features/passkeys/table.ts'`,
      '../features/passkeys',
    ],
    [
      'lib/web/endpoints/login.ts',
      `import { features } from '../../features/index.ts'`,
      '../../features/index.ts',
    ],
    ['lib/features/device/pages.ts', `import { a } from '../admin/table.ts'`, 'of another feature'],
    [
      'lib/features/device/pages.ts',
      `import { print } from '../../tools/cli/terminal.ts'`,
      '../../tools/cli/terminal.ts',
    ],
    [
      'lib/oauth/authorization-server.ts',
      `import { a } from '../features/feature.ts'`,
      '../features/feature.ts',
    ],
    ['lib/strings/split.ts', '', 'stands on no floor'],
    ['lib/strings.ts', '', 'stands on no floor'],
    ['lib/web/endpoints/token.ts', `import knex from 'knex'`, 'knex, which belongs to'],
    ['lib/tools/seed.ts', `import { type Knex } from 'knex'`, 'knex, which belongs to'],
    ['lib/tools/seed.ts', `const knex = require("knex")`, 'knex, which belongs to'],
    ['lib/oauth/tokens/id-token.ts', `import { SignJWT } from 'jose'`, 'jose, which belongs to'],
    ['lib/tools/seed.ts', `import { sign } from 'jose/jwt/sign'`, 'jose/jwt/sign, which belongs to'],
    ['lib/oauth/grants/grant.ts', `import express, { Router } from 'express'`, 'express, which belongs to'],
    ['lib/web/http/send.ts', `import { Eta } from 'eta'`, 'eta, which belongs to'],
    [
      'lib/web/sessions/session.ts',
      `import session from 'express-session'`,
      'express-session, which belongs to',
    ],
    ['lib/web/endpoints/login.ts', 'const id = (req) => req.session.id', 'touches req.session'],
    ['lib/web/endpoints/login.ts', 'f(req?.session)', 'touches req.session'],
    ['lib/web/http/form.ts', '  const { session } = req', 'touches req.session'],
    ['lib/web/sessions/session.ts', `Reflect.get(req, 'session')`, 'touches req.session'],
    ['lib/router.ts', 'export let started = false', 'keeps module-level state'],
    ['lib/router.ts', 'const seen = new Map<string, number>()', 'keeps module-level state'],
    ['lib/router.ts', 'const seen = new WeakMap<object, string>()', 'keeps module-level state'],
    [
      'lib/router.ts',
      'export const seen: WeakSet<object> =\n  new WeakSet(known)',
      'keeps module-level state',
    ],
    ['lib/tools/seed.ts', 'export default function seed() {}', 'has a default export'],
    ['lib/tools/seed.ts', 'export { seed as default }', 'has a default export'],
    ['lib/protocol/requests/pkce.ts', '  const now = Date.now()', 'reads a clock'],
    ['lib/web/endpoints/login.ts', `sendRedirect(res, '/login')`, 'redirects to a page without a fragment'],
    [
      'lib/web/endpoints/logout.ts',
      'sendRedirect(res, ownPath(server))',
      'redirects to a page without a fragment',
    ],
  ])('%s: %j', (file, source, expected) => {
    const [first = '', ...others] = violations(new Map([[file, source]]))
    expect(first).toContain(expected)
    expect(first.startsWith(`${file} `)).toBe(true)
    expect(others).toEqual([])
  })

  test('nothing of what is allowed', () => {
    const allowed = new Map([
      [
        'lib/web/endpoints/token.ts',
        `import { send } from '../../web/http/send.ts'\nimport { Router } from 'express'`,
      ],
      [
        'lib/web/endpoints/login.ts',
        `// never req.session\nconst hint = 'a MemoryStore in req.session'\n/** let x */`,
      ],
      ['lib/options/options.ts', `import type { Knex } from 'knex'\nexport type * from 'express'`],
      ['lib/web/sessions/host-session.ts', `const f = (req) => Reflect.get(req, 'session')`],
      ['lib/web/pages/views.ts', `import { Eta } from 'eta'\nimport { render } from './assets.ts'`],
      [
        'lib/router.ts',
        `if (options?.session === 'own') {\n  let count = 0\n  const seen = new WeakMap()\n}`,
      ],
      ['lib/index.ts', `export { authRouter } from './router.ts'\nexport * from './tools/seed.ts'`],
      ['lib/storage/database/migrate.ts', `import { migrations } from '../../migrations/index.ts'`],
      ['migrations/clients.ts', `import type { Knex } from 'knex'\nexport const up = (knex: Knex) => knex`],
    ])
    expect(violations(allowed)).toEqual([])
  })
})
