// The recipes for apps with a login or users of their own, as they stand in the documentation: Nest runs and Prisma is
// type-checked in one run of tsc, with the options of a Nest project.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { SignJWT } from 'jose'
import createKnex, { type Knex } from 'knex'
import { type ClientSeed, migrate, seedClients } from '../../lib/index.ts'
import { attack } from '../../lib/tools/testing/index.ts'
import { freePort } from '../support/free-ports.ts'
import { callback, secret } from '../support/host.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { claimsOf } from '../support/outcomes.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import {
  authorizeAt,
  compileFolder,
  grantedTo,
  type Recipe,
  redeemed,
  startRecipe,
} from '../support/recipe.ts'
import { describeWith, services } from '../support/services.ts'
import { filesOf, snippetsOf } from '../support/snippets.ts'
import { ada } from '../support/tokens.ts'

const recipes = [
  { page: 'docs/recipes/passport.md', signedIn: 'Hello Ada Lovelace', signedOut: 'Hello stranger' },
  { page: 'docs/recipes/jwt-cookie.md', signedIn: '{"user":"1"}', signedOut: '{"user":null}' },
]

describe.each(recipes)('$page', ({ page, signedIn, signedOut }) => {
  let recipe: Recipe
  beforeAll(async () => {
    recipe = await startRecipe(page)
  })
  afterAll(() => recipe?.folder.remove())

  const home = async (browser: RawBrowser): Promise<string> => (await browser.get('/')).html
  const signIn = (browser: RawBrowser, fields: Readonly<Record<string, string>> = {}) =>
    browser.post('/login', { email: ada.email, password: ada.password, ...fields })
  const silently = async (browser: RawBrowser): Promise<URL> =>
    locationOf(await browser.get(authorizeAt(recipe.issuer, { prompt: 'none' })))

  test('a user who signs in on our page is signed in to the app', async () => {
    const browser = recipe.browser()
    expect(await home(browser)).toBe(signedOut)
    expect((await grantedTo(recipe, browser)).searchParams.get('code')).toMatch(/^lk_/)
    expect(await home(browser)).toBe(signedIn)
    expect((await silently(browser)).searchParams.has('code')).toBe(true)
  })

  test('a user signed in to the app is not asked for a password, and the time of login is known', async () => {
    const browser = recipe.browser()
    expect((await signIn(browser)).location?.pathname).toBe('/')
    const page = await browser.open(authorizeAt(recipe.issuer, { max_age: '600' }))
    expect(page.url.pathname).not.toBe('/oauth/login')
    const { id_token = '' } = await redeemed(recipe, await grantedTo(recipe, browser))
    const age = Date.now() / 1000 - Number(claimsOf(id_token).auth_time)
    expect([age > -1, age < 60]).toEqual([true, true])
    expect((await silently(browser)).searchParams.has('code')).toBe(true)
  })

  test('the form of the app leads back, and a wrong password does not sign in', async () => {
    const browser = recipe.browser()
    const fields = { return_to: '/oauth/login?request=1' }
    const wrong = await signIn(browser, { ...fields, password: 'wrong' })
    expect(wrong.location?.searchParams.get('return_to')).toBe(fields.return_to)
    expect(await home(browser)).toBe(signedOut)
    expect((await signIn(browser, { return_to: '//evil.example' })).location?.href).toBe(`${recipe.origin}/`)
    const right = await signIn(recipe.browser(), fields)
    expect(`${right.location?.pathname}${right.location?.search}`).toBe(fields.return_to)
  })

  test('signing out of the app ends our login, and at once what the client got', async () => {
    const browser = recipe.browser()
    const { access_token } = await redeemed(recipe, await grantedTo(recipe, browser))
    const headers = { Authorization: `Bearer ${access_token}` }
    const userInfo = async (): Promise<number> =>
      (await fetch(`${recipe.issuer}/userinfo`, { headers })).status
    expect(await userInfo()).toBe(200)
    await browser.post('/logout', {})
    expect(await userInfo()).toBe(401)
    expect(await home(browser)).toBe(signedOut)
    expect((await silently(browser)).searchParams.get('error')).toBe('login_required')
  })

  test('signing out on our page ends the login of the app', async () => {
    const browser = recipe.browser()
    await grantedTo(recipe, browser)
    const done = await browser.submit(await browser.get('/oauth/logout'), 'csrf_token')
    expect(done.html).toContain('You’re signed out')
    expect(await home(browser)).toBe(signedOut)
    expect((await silently(browser)).searchParams.get('error')).toBe('login_required')
  })
})

test('the JWT cookie keeps the level of a login, and an older cookie lifts no new login to its own', async () => {
  const recipe = await startRecipe('docs/recipes/jwt-cookie.md')
  try {
    const claimsFor = async (browser: RawBrowser, parameters: Record<string, string>) =>
      claimsOf((await redeemed(recipe, await grantedTo(recipe, browser, parameters))).id_token ?? '')
    const browser = recipe.browser()
    const earlier = await new SignJWT({ acr: 'mfa' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('1')
      .setIssuedAt(Math.floor(Date.now() / 1000) - 5000)
      .setExpirationTime('8h')
      .sign(new TextEncoder().encode(secret))
    browser.cookies.set('user', earlier)
    expect(await claimsFor(browser, {})).toMatchObject({ acr: 'mfa' })
    const { auth_time, ...others } = await claimsFor(browser, { max_age: '300' })
    expect(others).toMatchObject({ acr: 'password', amr: ['pwd'] })
    expect(await claimsFor(browser, {})).toMatchObject({ acr: 'password', amr: ['pwd'], auth_time })
    const refused = await browser.get(authorizeAt(recipe.issuer, { prompt: 'none', acr_values: 'mfa' }))
    expect(locationOf(refused).searchParams.get('error')).toBe('login_required')
  } finally {
    recipe.folder.remove()
  }
})

/** The attack pack on the app of a page, and what it is told about the app. */
const attacked = [
  { page: 'docs/recipes/passport.md', told: {} },
  { page: 'docs/recipes/jwt-cookie.md', told: { statelessLogin: true } },
]
test.each(attacked)('$page withstands the attack pack', async ({ page, told }) => {
  const recipe = await startRecipe(page)
  try {
    const report = await attack(recipe.origin, {
      issuer: recipe.issuer,
      client: { client_id: 'web', client_secret: secret, redirect_uri: callback, scope: 'openid email' },
      user: { username: ada.email, password: ada.password },
      ...told,
    })
    if (report.findings.length > 0) throw new Error(String(report))
    expect(report.passed.length).toBeGreaterThan(30)
  } finally {
    recipe.folder.remove()
  }
})

describe('docs/recipes/api-keys.md', () => {
  let recipe: Recipe
  beforeAll(async () => {
    recipe = await startRecipe('docs/recipes/api-keys.md')
    const filename = join(recipe.folder.path, 'app.sqlite')
    const database = createKnex({
      client: 'better-sqlite3',
      useNullAsDefault: true,
      connection: { filename },
    })
    await database.schema.createTable('api_keys', (table) => {
      table.string('hash').primary()
      table.integer('user_id')
    })
    const key = createHash('sha256').update('shop_key').digest('hex')
    await database('api_keys').insert({ hash: key, user_id: 1 })
    await database.destroy()
  })
  afterAll(() => recipe?.folder.remove())

  const orders = async (headers: Record<string, string>): Promise<unknown[]> => {
    const answer = await fetch(`${recipe.origin}/api/orders`, { headers })
    const { ordersOf, error } = await answer.json()
    return [answer.status, ordersOf ?? error]
  }
  const token = async (scope: string): Promise<Record<string, string>> => {
    const response = await grantedTo(recipe, recipe.browser(), { scope, prompt: 'consent' })
    return { Authorization: `Bearer ${(await redeemed(recipe, response)).access_token}` }
  }

  test('a key and a token lead to the same user', async () => {
    expect(await orders({ 'X-Api-Key': 'shop_key' })).toEqual([200, ada.email])
    expect(await orders(await token('openid orders:read'))).toEqual([200, ada.email])
  })

  test('without a valid one, or without the scope, the guard answers', async () => {
    expect(await orders({})).toEqual([401, 'invalid_token'])
    expect(await orders({ 'X-Api-Key': 'another' })).toEqual([401, 'invalid_token'])
    expect(await orders(await token('openid'))).toEqual([403, 'insufficient_scope'])
  })
})

describe('the packages that a page imports', () => {
  const directory = join(__dirname, '../../docs/recipes')
  const pages = readdirSync(directory).filter((name) => name !== 'README.md')
  /** `@scope/name` or `name`, without a path in the package. */
  const packageOf = (specifier: string): string =>
    specifier
      .split('/')
      .slice(0, specifier.startsWith('@') ? 2 : 1)
      .join('/')

  test.each(pages)('%s says how to install each of them', (name) => {
    const page = readFileSync(join(directory, name), 'utf8')
    const code = snippetsOf(`docs/recipes/${name}`)
      .map((snippet) => snippet.code)
      .join('\n')
    const specifiers = [...code.matchAll(/^import (?:[^'\n]* from )?'([^'.][^']*)'/gm)].map(
      ([, from = '']) => from,
    )
    const imported = specifiers.filter((from) => !from.startsWith('node:')).map(packageOf)
    const installed = [...page.matchAll(/npm install ([^`\n]+)/g)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    const [, own = ''] = /The project itself has ([^.]+)/.exec(page) ?? []
    const named = [...installed, ...[...own.matchAll(/`([^`]+)`/g)].map(([, each = '']) => each)]
    expect([...new Set(imported)].filter((each) => !named.includes(each))).toEqual([])
    expect(imported.length).toBeGreaterThan(0)
  })
})

test('with a page of its own the Passport app gets the browser, and gives it back', async () => {
  const changed = ({ 'app.mjs': app = '', ...files }: Record<string, string>) => ({
    ...files,
    'app.mjs': app.replace('  login: {\n', "  login: {\n    url: '/login',\n"),
  })
  const recipe = await startRecipe('docs/recipes/passport.md', { changed })
  try {
    const browser = recipe.browser()
    const page = await browser.open(authorizeAt(recipe.issuer))
    expect(page.url.pathname).toBe('/login')
    const return_to = page.url.searchParams.get('return_to') ?? ''
    const back = await browser.post('/login', { email: ada.email, password: ada.password, return_to })
    const returned = await browser.follow(back)
    const onward = /id="continue" href="([^"]+)"/.exec(returned.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const consent = await browser.open(onward)
    expect(locationOf(await browser.decide(consent, 'allow')).searchParams.has('code')).toBe(true)
  } finally {
    recipe.folder.remove()
  }
})

const orms = 'docs/recipes/orms.md'
const { 'app.mjs': app = '', ...modules } = filesOf(orms)
const web: ClientSeed = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  first_party: true,
}

/** The app of the page, with the users of a module instead of its own. */
const appWith = (module: string): string =>
  `import { users } from './${module}'\n${app.replace(/ {2}users: \{[\s\S]*?\n {2}\},\n/, '  users,\n')}`

const forms = [
  { form: 'as a table', code: app },
  { form: 'behind Sequelize', code: appWith('sequelize-users.mjs') },
  { form: 'behind TypeORM', code: appWith('typeorm-users.mjs') },
]

describeWith('postgresql', orms, () => {
  const schema = `recipes_${process.pid}`
  let knex: Knex
  let folder: HostFolder
  beforeAll(async () => {
    const admin = createKnex({ client: 'pg', connection: services.postgresql })
    await admin.schema.createSchemaIfNotExists(schema)
    await admin.destroy()
    knex = createKnex({ client: 'pg', connection: services.postgresql, searchPath: [schema] })
    // The names that each of them gives to the table of a model User.
    for (const table of ['Users', 'user']) {
      await knex.schema.createTable(table, (columns) => {
        columns.increments('id')
        for (const name of ['email', 'passwordHash', 'fullName']) columns.string(name)
        for (const name of ['disabledAt', 'createdAt', 'updatedAt']) columns.timestamp(name)
      })
      const passwordHash = await hash(ada.password, { cost: 4 })
      await knex(table).insert({ email: ada.email, fullName: ada.full_name, passwordHash })
    }
    await migrate(knex)
    await seedClients(knex, [web])
    folder = openHostFolder(modules)
  })
  afterAll(async () => {
    folder?.remove()
    await knex?.schema.dropSchemaIfExists(schema, true)
    await knex?.destroy()
  })

  test.each(forms)(
    'users $form sign in, have claims, and cannot when they are disabled',
    async ({ code }) => {
      const port = await freePort()
      const origin = `http://localhost:${port}`
      const file = `app-${port}.mjs`
      writeFileSync(join(folder.path, file), code)
      const env = { DATABASE_URL: services.postgresql, PGOPTIONS: `-c search_path=${schema}` }
      await folder.start(file, { PORT: String(port), ...env })
      const request = authorizeAt(`${origin}/oauth`, { scope: 'openid profile email' })
      const visit = () => new RawBrowser(origin, origin).grant(request, ada.email, ada.password)
      const { id_token } = await redeemed({ issuer: `${origin}/oauth` }, locationOf(await visit()))
      expect(claimsOf(id_token ?? '')).toMatchObject({ sub: '1', name: ada.full_name, email: ada.email })
      const wrong = await new RawBrowser(origin, origin).grant(request, 'eve@example.com', ada.password)
      expect(wrong.status).toBe(400)
      for (const table of ['Users', 'user']) await knex(table).update({ disabledAt: new Date() })
      try {
        expect((await visit()).status).toBe(400)
      } finally {
        for (const table of ['Users', 'user']) await knex(table).update({ disabledAt: null })
      }
    },
  )
})

const root = join(__dirname, '../..')

/** What Prisma generates for the model of the page, as far as the recipe uses it. */
const prisma = {
  'generated/prisma/client.ts':
    'export type User = { id: number; email: string; passwordHash: string; fullName: string; disabledAt: Date | null }',
  'prisma.ts': `import type { User } from './generated/prisma/client.js'
type By = { where: { id: number } | { email: string } }
export declare const prisma: { user: { findUnique(by: By): Promise<User | null> } }`,
}

describe('docs/recipes/nestjs.md', () => {
  let recipe: Recipe
  beforeAll(async () => {
    const main = (folder: Recipe['folder']): string => `${compileFolder(folder)}/src/main.js`
    const { 'prisma-users.ts': users = '', 'passwords.mjs': passwords = '' } = filesOf(orms)
    const changed = (files: Record<string, string>) => ({
      ...files,
      'passwords.mjs': passwords,
      'prisma-users.ts': users,
      ...prisma,
    })
    recipe = await startRecipe('docs/recipes/nestjs.md', { main, changed })
  })
  afterAll(() => recipe?.folder.remove())

  const orders = (token?: string) =>
    fetch(`${recipe.origin}/api/orders`, {
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    })

  test('a user signs in, and the decorated route gets the token', async () => {
    const response = await grantedTo(recipe, recipe.browser(), { scope: 'openid orders:read' })
    const { access_token } = await redeemed(recipe, response)
    const answer = await orders(access_token)
    expect(await answer.json()).toEqual({ ordersOf: '1' })
  })

  test('the guard answers requests without a token or without the scope, with the challenge', async () => {
    const none = await orders()
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer /),
    ])
    const { access_token } = await redeemed(recipe, await grantedTo(recipe, recipe.browser()))
    const less = await orders(access_token)
    expect([less.status, (await less.json()).error]).toEqual([403, 'insufficient_scope'])
  })

  test('discovery is at the root, and routes of Nest stay beside it', async () => {
    const found = await fetch(`${recipe.origin}/.well-known/oauth-authorization-server/oauth`)
    expect((await found.json()).issuer).toBe(recipe.issuer)
    expect((await fetch(`${recipe.origin}/nothing`)).status).toBe(404)
  })

  test('the users of Prisma have the types of the option', () => {
    const compiled = join(recipe.folder.path, 'dist', relative(root, recipe.folder.path), 'prisma-users.js')
    expect(existsSync(compiled)).toBe(true)
  })
})
