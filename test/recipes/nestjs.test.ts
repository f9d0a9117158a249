// The recipe for NestJS, compiled by tsc as a project of Nest is, and run.

import { compileFolder, grantedTo, type Recipe, redeemed, startRecipe } from '../support/recipe.ts'

describe('docs/recipes/nestjs.md', () => {
  let recipe: Recipe
  beforeAll(async () => {
    const main = (folder: Recipe['folder']): string => `${compileFolder(folder)}/src/main.js`
    recipe = await startRecipe('docs/recipes/nestjs.md', { main })
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
})
