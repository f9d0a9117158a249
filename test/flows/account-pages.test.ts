import { startHost } from '../support/host.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'

const all = ['', '/passkeys', '/second-factor', '/tokens'].map((path) => `/oauth/account${path}`)
/** The paths that the list of the other pages links to. */
const others = ({ html }: Answer): string[] => {
  const [list = ''] = /<nav class="facts links".*?<\/nav>/s.exec(html) ?? []
  return [...list.matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path)
}

test('each page of the account links to all others, in the same order, and offers the languages', async () => {
  const host = await startHost({
    options: {
      login: { passkeys: true, totp: true },
      features: { personalAccessTokens: true },
      developers: () => true,
    },
  })
  const browser = new RawBrowser(host.app)
  await browser.signIn(await browser.open('/oauth/account'))
  for (const path of [...all, '/oauth/developer']) {
    const page = await browser.open(path)
    expect({ path, others: others(page) }).toEqual({ path, others: all.filter((other) => other !== path) })
    expect(page.html).toContain(`href="${path}?language=de"`)
  }
})

test('a host without these options has one page, and no list', async () => {
  const host = await startHost()
  const browser = new RawBrowser(host.app)
  const page = await browser.signIn(await browser.open('/oauth/account'))
  expect(page.html).toContain('Connected apps')
  expect(others(page)).toEqual([])
})
