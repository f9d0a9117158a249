// Renders each page in each state to OUTDIR and pictures it in Chromium: light, dark, narrow, forced colours.
// With --language=ar they are in that language; with --check it also runs axe-core over each and fails on violations or sideways scrolling.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { createViews } from '../../lib/pages/views.ts'
import { samples } from './page-samples.ts'

const directory = process.argv[2] ?? 'test/.artifacts/pages'
const isCheck = process.argv.includes('--check')
const language = process.argv.find((each) => each.startsWith('--language='))?.split('=')[1] ?? 'en'
const choices = Object.entries({
  ar: 'العربية',
  de: 'Deutsch',
  en: 'English',
  es: 'Español',
  fr: 'Français',
  ja: '日本語',
}).map(([tag, name]) => ({ tag, name, ...(tag !== language && { url: `/?language=${tag}` }) }))
mkdirSync(directory, { recursive: true })

const views = createViews({
  directory: undefined,
  branding: {
    name: 'Acme',
    links: { forgotPassword: '/forgot', signUp: '/sign-up', help: '/help', privacy: '/privacy' },
  },
  basePath: '',
})
const documents = new Map(
  samples.map(({ name, page, model }) => [
    `/${name}.html`,
    views.render(page, model as never, { language, choices }),
  ]),
)

const server = createServer((req, res) => {
  const path = new URL(req.url ?? '/', 'http://localhost').pathname
  const asset = views.asset(path.replace('/assets/', ''))
  const document = documents.get(path)
  res.setHeader(
    'content-type',
    document === undefined ? (asset?.type ?? 'text/plain') : 'text/html; charset=utf-8',
  )
  if (!isCheck)
    res.setHeader('content-security-policy', "default-src 'none'; style-src 'self'; img-src 'self'")
  res.statusCode = document === undefined && asset === undefined ? 404 : 200
  res.end(document?.replace(/<meta http-equiv="refresh"[^>]*>|<script [^>]*>/g, '') ?? asset?.body)
})
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const modes = {
  light: { width: 900, height: 760, colorScheme: 'light', forcedColors: 'none' },
  dark: { width: 900, height: 760, colorScheme: 'dark', forcedColors: 'none' },
  narrow: { width: 320, height: 640, colorScheme: 'light', forcedColors: 'none' },
  'narrow-dark': { width: 320, height: 640, colorScheme: 'dark', forcedColors: 'none' },
  forced: { width: 900, height: 760, colorScheme: 'dark', forcedColors: 'active' },
} as const

const axe = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ],
})
let faults = 0
try {
  for (const [mode, { width, height, colorScheme, forcedColors }] of Object.entries(modes)) {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme,
      forcedColors,
      deviceScaleFactor: 1.5,
    })
    const page = await context.newPage()
    page.on('console', (message) => {
      if (message.type() === 'error') console.error(mode, page.url(), message.text())
    })
    for (const { name } of samples) {
      await page.goto(`${origin}/${name}.html`)
      await page.screenshot({ path: join(directory, `${name}.${mode}.png`), fullPage: true })
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      )
      if (overflow) console.error(`${mode} ${name}: scrolls sideways`)
      if (overflow) faults += 1
      if (!isCheck) continue
      await page.evaluate(axe)
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
      const found = (await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(tags)} }).then((result) => ({
        violations: result.violations.map((rule) => rule.id + ': ' + rule.nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | ')),
        incomplete: result.incomplete.map((rule) => rule.id + ': ' + rule.nodes.map((node) => node.html).join(' | ')),
      }))`)) as { violations: string[]; incomplete: string[] }
      for (const violation of found.violations) console.error(`${mode} ${name}: ${violation}`)
      for (const doubt of found.incomplete) console.warn(`${mode} ${name}: to look at: ${doubt}`)
      faults += found.violations.length
    }
    await context.close()
  }
} finally {
  await browser.close()
  server.close()
}
for (const [path, document] of documents) writeFileSync(join(directory, path), document)
console.log(
  `${samples.length} pages in ${Object.keys(modes).length} ways: ${faults} faults; pictures in ${directory}`,
)
process.exitCode = faults === 0 ? 0 : 1
