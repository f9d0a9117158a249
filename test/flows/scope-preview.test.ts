import type { AuthRouterOptions } from '../../lib/index.ts'
import { shownPreview } from '../../lib/oauth/authorization/consent-rows.ts'
import { authorizeUrl, type Host, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { RawBrowser } from '../support/raw-browser.ts'

// What a scope is about, in examples of the user's own: review of the pages, “consent shows the thing”.

type Preview = Exclude<NonNullable<AuthRouterOptions['scopes']>[string], string>['preview']
let preview: NonNullable<Preview> = () => []
const asked: unknown[] = []
const logged: unknown[][] = []

let host: Host
beforeAll(async () => {
  host = await startHost({
    options: {
      limits: false,
      scopes: {
        'notes:write': 'Write notes for you',
        'notes:read': {
          description: 'Read your notes',
          preview: (user) => {
            asked.push(user.id)
            return preview(user)
          },
        },
      },
      logger: { info: () => {}, warn: () => {}, error: (...words) => void logged.push(words) },
    },
  })
})
afterAll(() => host.close())
beforeEach(() => {
  asked.length = 0
  logged.length = 0
})

const consentPage = async () => {
  const browser = new RawBrowser(host.app)
  const asks = authorizeUrl({ client_id: 'web', scope: 'openid notes:read', prompt: 'consent' })
  const page = await browser.signIn(await browser.open(asks))
  return { browser, page }
}

test('the consent page shows three titles of the user, as text, and the number of the others', async () => {
  preview = () => ({ items: ['Sourdough, <b>third</b> try', 'Books', 'Allotment', 'Train'], more: 40 })
  const { page } = await consentPage()
  expect(page.html).toContain('<bdi>Sourdough, &lt;b&gt;third&lt;/b&gt; try</bdi>')
  expect(page.html).toContain('<bdi>Allotment</bdi> … and <bdi>41</bdi> more')
  expect(page.html).not.toContain('Train')
  expect(asked).toHaveLength(1)
})

test('titles that change before Allow do not ask again', async () => {
  preview = () => ['Before']
  const { browser, page } = await consentPage()
  preview = () => ['After']
  const answer = await browser.decide(page, 'allow')
  expect(codeOf(answer)).toEqual(expect.any(String))
})

test.each<[string, NonNullable<Preview>]>([
  ['fails', () => Promise.reject(new Error('the notes are gone'))],
  [
    'throws',
    () => {
      throw new Error('the notes are gone')
    },
  ],
  ['returns something else', () => 'Sourdough' as never],
  ['returns a list of numbers', () => [1] as never],
])('a function that %s leaves the page without titles, and is logged', async (_, fails) => {
  preview = fails
  const { page } = await consentPage()
  expect(page.status).toBe(200)
  expect(page.html).toContain('Read your notes')
  expect(page.html).not.toContain('Sourdough')
  expect(logged.map(([message]) => message)).toEqual([
    expect.stringMatching(/^latchkey: the consent page has no preview of notes:read: ./),
  ])
})

test('a long title is cut, one of several lines is one line, and an empty list shows nothing', () => {
  const cut = shownPreview(['😀'.repeat(5000), 'a\n\u2028b'])
  expect([...(cut?.items[0] ?? '')]).toHaveLength(60)
  expect(cut?.items[1]).toBe('a b')
  expect(shownPreview([])).toBeUndefined()
  expect(shownPreview(['\n', ' '])).toBeUndefined()
  expect(() => shownPreview({ items: ['a'], more: -1 })).toThrow(TypeError)
  expect(() => shownPreview({ items: ['a'], more: Number.NaN })).toThrow(TypeError)
})
