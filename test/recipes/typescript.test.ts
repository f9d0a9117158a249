// The recipes in TypeScript, in one run of tsc with the options of a Nest project: Nest runs, Prisma is type-checked.

import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { compileFolder, grantedTo, type Recipe, redeemed, startRecipe } from '../support/recipe.ts'
import { filesOf } from '../support/snippets.ts'

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
    const { 'prisma-users.ts': users = '', 'passwords.mjs': passwords = '' } = filesOf('docs/recipes/orms.md')
    const changed = (files: Record<string, string>) => ({
      ...files,
      ...{ 'passwords.mjs': passwords, 'prisma-users.ts': users, ...prisma },
    })
    recipe = await startRecipe('docs/recipes/nestjs.md', { main, changed })
  }, 120_000)
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
