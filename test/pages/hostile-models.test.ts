import { readdirSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import type { Sample } from '../../lib/tools/samples/sample.ts'
import type { PageModels, PageName } from '../../lib/web/pages/page-models.ts'
import { viewFolders } from '../../lib/web/pages/template-version.ts'
import { launchBrowser, newPage } from '../support/browser.ts'
import { openServer, type TestServer } from '../support/client-server.ts'
import { testsAll } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { createViews, look, allSamples as samples } from '../support/views.ts'

/** Each would tell the page around it, if it ran. */
const hostile: Readonly<Record<string, string>> = {
  script: '</script><script>top.ran++</script>',
  'a tag after an attribute': '"><svg onload="top.ran++"><img src=x onerror=top.ran++>',
  'a tag after a single quote': `'><svg/onload='top.ran++'>`,
  'an attribute': '" autofocus onfocus="top.ran++" x="',
  'the end of the title and of the page':
    '</title></style></textarea></body></html><script>top.ran++</script>',
  'a comment': '--><script>top.ran++</script><!--',
  'template syntax': '<%= top.ran++ %><%~ "<script>top.ran++</script>" %>#{top.ran++}{{top.ran++}}',
  placeholders: '{product}{client}{host}{username}{organization}',
  'the address of a script': 'javascript:top.ran++',
  'the address of a document': 'data:text/html,<script>top.ran++</script>',
  'another direction': '\u202egnirts\u2066\u200f\u061c<script>top.ran++</script>',
  'a very long name': '<b onclick=top.ran++>'.padEnd(10_000, 'n'),
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈<svg onload=top.ran++>',
  'a lone surrogate': '\ud800<svg onload=top.ran++>\udfff',
  'what no text holds': '\u0000<\u0000script>top.ran++\u001b</script>\ufeff\u2028',
  'another encoding': '+ADw-script+AD4-top.ran++\u00bc',
  entities: '&lt;script&gt;top.ran++&lt;/script&gt;&#x22;&quot;&#39;&colon;',
  'names of what every object has': '__proto__',
}

/** Texts that do not depend on where they begin are tried at once; each alone with TEST_ALL=1. */
const atOnce = [
  'script',
  'an attribute',
  'a tag after a single quote',
  'the end of the title and of the page',
  'a comment',
  'template syntax',
  'another direction',
  'entities',
]
const tried: Readonly<Record<string, string>> = testsAll
  ? hostile
  : {
      'markup, template syntax and entities': atOnce.map((name) => hostile[name]).join(' '),
      'the address of a script': hostile['the address of a script']!,
      'what no text holds': hostile['what no text holds']!,
    }

/** What only the server says: a closed list, or an address of its own. */
const ownFields =
  'kind error group action cancelUrl removeUrl signOutUrl url accountUrl forgotPassword signUp icon identifier logoUrl homeUrl signInUrl stayUrl switchUrl otherCodeUrl previousUrl nextUrl notice frames newUrl editUrl rotateUrl deleteUrl listUrl ownerUrl state eventsUrl page outcome method failedMethod autocomplete disableUrl publishUrl keysUrl againUrl codeUrl clientUrl manageUrl signInUrl step problem filter'
    .split(' ')
    .concat(
      'tone lack locksUrl tokensUrl changeUrl mode duration count field hour waits needed refused texts sentence preset revokeUrl replaceUrl act section show apps unverified most event csvUrl'.split(
        ' ',
      ),
    )
const addresses = ['uri', 'policyUri', 'tosUri', 'logo', 'help', 'privacy']

/** How a field is spoilt: as a whole, or as an address that is one up to its end. */
type Spoil = (text: string, field: string) => string

const spoilt = (text: string): Readonly<Record<string, Spoil>> => ({
  'in every field': (kept, field) => (ownFields.includes(field) ? kept : text),
  'at the end of every address': (kept, field) => {
    const ending = text.replaceAll(/[\s\p{Cc}]/gu, '')
    if (addresses.includes(field)) return `https://desk.example.com/${ending}`
    return ownFields.includes(field) && /^(https?:|\/)/.test(kept) ? `${kept}?to=${ending}` : kept
  },
})

const mapped = (value: unknown, spoil: Spoil, field = ''): unknown => {
  if (typeof value === 'string') return spoil(value, field)
  if (field === 'presets') return value
  // The fields of a form are a list, and their members have names of ours.
  if (Array.isArray(value)) return value.map((entry) => mapped(entry, spoil, field === 'fields' ? '' : field))
  if (typeof value !== 'object' || value === null) return value
  // The values of a choice are a closed list.
  if (field === 'choices' && 'isChosen' in value && ['', 'none'].includes(String(Object(value).value)))
    return value
  const isNamedByOthers = field === 'hidden' || field === 'fields'
  // We choose the names of the inputs of a client's form, so they stay. Object.fromEntries also keeps a member `__proto__`.
  const entries = Object.entries(value).map(([name, entry], index) => [
    isNamedByOthers && index === 0 ? spoil(name, '') : name,
    field === 'inputs' && name === 'name' ? entry : mapped(entry, spoil, isNamedByOthers ? '' : name),
  ])
  return Object.fromEntries(entries)
}

const appearance = {
  name: 'Acme',
  logo: '/logo.svg',
  links: { help: '/help', privacy: '/privacy' },
}
const choices = [
  { tag: 'en', name: 'English' },
  { tag: 'fr', name: 'Français', url: '/login?language=fr' },
]

/** Every state of every page, made of what is spoilt. */
const rendered = (spoil: Spoil): Map<string, string> => {
  const brand = mapped(appearance, spoil) as typeof appearance
  const views = createViews({ pages: { ...look(), ...brand }, basePath: '' })
  const speech = { choices: mapped(choices, spoil) as typeof choices }
  const render = ({ page, model }: Sample) =>
    views.render(page, mapped(model, spoil) as PageModels[PageName] as never, speech)
  return new Map(samples.map((sample) => [sample.name, render(sample)]))
}

/** What each document holds, as the browser understands its bytes. */
const inspect = (
  names: readonly string[],
): string => `Promise.all(${JSON.stringify(names)}.map(async (name) => {
  const response = await fetch('/document/' + name)
  const inside = new DOMParser().parseFromString(await response.text(), 'text/html')
  const elements = [...inside.querySelectorAll('*')]
  const attributes = elements.flatMap((element) => [...element.attributes])
  // Nobody reads the values of these, and they must stay as they are.
  const isRead = ({ name, ownerElement }) =>
    name !== 'name' && !ownerElement.matches('[type=hidden], [type=radio], option' + (name === 'value' ? ', button' : ''))
  const leading = ['href', 'src', 'action', 'formaction']
  return {
    name,
    shape: elements.map((element) => [element.localName, ...element.getAttributeNames().sort()].join(' ')),
    said: [inside.title, inside.body.textContent, ...attributes.filter(isRead).map(({ value }) => value)].join('\\n'),
    addresses: attributes.filter((attribute) => leading.includes(attribute.name)).map(({ value }) => value),
    fields: [...inside.querySelectorAll('[type=hidden]')].map((field) => [field.name, field.value]),
  }
}))`

interface Inspected {
  readonly name: string
  /** Each element with the names of its attributes. */
  readonly shape: readonly string[]
  readonly said: string
  readonly addresses: readonly string[]
  /** Hidden fields, name and value. */
  readonly fields: readonly (readonly [string, string])[]
}

/** What no page says: a value that is missing, or a character that disguises its neighbours. */
const odd = /\bundefined\b|\bnull\b|\[object |\bNaN\b|[\u202a-\u202e\u2066-\u2069]/g

/** What fields hold after a browser has read them: neither UTF-8 nor HTML has the first two, and lines end alike. */
const asRead = (text: string): string => Buffer.from(text).toString().replaceAll('\u0000', '\ufffd')

describeWith('chromium', 'hostile text, read by Chromium without a Content-Security-Policy', () => {
  let browser: Browser
  let server: TestServer
  let page: Page
  let documents = new Map<string, string>()
  let harmless: Record<string, Map<string, Inspected>>
  beforeAll(async () => {
    browser = await launchBrowser()
    page = await newPage(browser)
    // The logos and pages of elsewhere do not exist.
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setBlockedURLs', { urls: ['https://*'] })
    server = await openServer()
    server.serve((req, res) => {
      const [, kind = '', name = ''] = new URL(req.url ?? '/', server.origin).pathname.split('/')
      const frames = [...documents.keys()].map((each) => `<iframe src="/document/${each}"></iframe>`)
      const html =
        kind === 'frames'
          ? `<!doctype html><title>frames</title><script>ran = 0</script>${frames.join('')}`
          : kind === 'document'
            ? documents.get(name)
            : undefined
      res.setHeader('Content-Type', 'text/html; charset=utf-8')
      // Where a page refreshes to there is no content, and the browser stays.
      res.statusCode = html === undefined ? 204 : 200
      res.end(html)
    })
    documents = new Map([['empty', '<!doctype html><title>empty</title>']])
    await page.goto(`${server.origin}/document/empty`)
    harmless = {}
    for (const [where, spoil] of Object.entries(spoilt('harmless')))
      harmless[where] = new Map((await parsed(spoil)).map((found) => [found.name, found]))
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  /** All states, parsed as the browser parses pages. */
  const parsed = async (spoil: Spoil): Promise<Inspected[]> => {
    documents = rendered(spoil)
    return page.evaluate(inspect([...documents.keys()]))
  }
  /** The longest document of each page. All of them take two minutes and found nothing more. */
  const fullest = (all: Map<string, string>): Map<string, string> => {
    const byPage = new Map<PageName, [name: string, document: string]>()
    for (const { name, page } of samples) {
      const document = all.get(name) ?? ''
      if (document.length > (byPage.get(page)?.[1].length ?? 0)) byPage.set(page, [name, document])
    }
    return new Map(byPage.values())
  }
  /** How many of the scripts ran when each document was open in a frame. */
  const ran = async (opened: Map<string, string>): Promise<number> => {
    documents = opened
    await page.goto(`${server.origin}/frames`, { timeout: 60_000 })
    return page.evaluate('ran')
  }

  test('there is a state of every page', () => {
    const pages = viewFolders
      .flatMap((folder) => readdirSync(folder))
      .filter((file) => file.endsWith('.eta') && file !== 'layout.eta')
      .map((file) => file.replace('.eta', ''))
    expect([...new Set(samples.map((sample) => sample.page))].sort()).toEqual(pages.sort())
  })

  describe.each(Object.entries(tried))('%s', (name, text) => {
    // Only the address of a script means something at the end of an address; each text with TEST_ALL=1.
    const isTriedThere = testsAll || name === 'the address of a script'
    test.each(Object.keys(spoilt('')).slice(0, isTriedThere ? 2 : 1))(
      '%s stays text, adds nothing to any page, and is carried as it is',
      async (where) => {
        const found = await parsed(spoilt(text)[where]!)
        expect(found.map(({ name }) => name)).toEqual(samples.map(({ name }) => name))
        for (const { name, shape, said, addresses: leadTo } of found) {
          expect({ name, shape }).toEqual({ name, shape: harmless[where]?.get(name)?.shape })
          expect({ name, odd: said.match(odd) }).toEqual({ name, odd: null })
          const scripts = leadTo.filter((address) =>
            /^\s*(?:javascript|data(?!:text\/plain;)|vbscript):/i.test(address),
          )
          expect({ name, scripts }).toEqual({ name, scripts: [] })
        }
        // What is carried for others is what they gave.
        const carried = (page: string) => found.find(({ name }) => name === page)?.fields.flat()
        const isSpoilt = where === 'in every field'
        const values = isSpoilt ? [0, 1, 2, 3].map((at) => (at === 2 ? 'csrf' : asRead(text))) : undefined
        expect(carried('login')).toEqual(values ?? ['request', 'lk_ar_sample', 'csrf', 'sample'])
        expect(carried('form-post')?.at(-1)).toBe(isSpoilt ? asRead(text) : 'a b')
      },
    )
  })

  test('no hostile text runs as a script', async () => {
    const all = Object.values(tried).join('')
    const alone = [hostile['an attribute']!, hostile['the address of a script']!]
    for (const text of testsAll ? [all, ...alone] : [all])
      for (const [where, spoil] of Object.entries(spoilt(text)).slice(0, testsAll ? 2 : 1))
        expect({ where, text, ran: await ran(fullest(rendered(spoil))) }).toEqual({ where, text, ran: 0 })
  })

  test('a text that is not escaped does run, so nothing else prevents it', async () => {
    const raw = Object.values(hostile).map((text) => `<title>${text}</title><p title="${text}">${text}`)
    expect(await ran(new Map(raw.map((html, index) => [`raw-${index}`, html])))).toBeGreaterThan(8)
  })
})
