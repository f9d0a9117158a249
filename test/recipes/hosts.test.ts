// The recipes for apps with a login of their own, as they stand in the documentation.

import { claimsOf } from '../support/outcomes.ts'
import { locationOf, type RawBrowser } from '../support/raw-browser.ts'
import { authorizeAt, grantedTo, type Recipe, redeemed, startRecipe } from '../support/recipe.ts'
import { ada } from '../support/stock-client.ts'

const recipes = [
  { page: 'docs/recipes/passport.md', signedIn: 'Hello Ada Lovelace', signedOut: 'Hello stranger' },
  { page: 'docs/recipes/jwt-cookie.md', signedIn: '{"user":"1"}', signedOut: '{"user":null}' },
]

describe.each(recipes)('$page', ({ page, signedIn, signedOut }) => {
  let recipe: Recipe
  beforeAll(async () => {
    recipe = await startRecipe(page)
  }, 60_000)
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

  test('a user who is signed in to the app is not asked for a password, and the time of the login is known', async () => {
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
}, 60_000)
