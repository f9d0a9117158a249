/**
 * Writes the documentation as a static site with search, and as text for language models: `npm run docs:site`. The pages are
 * the Markdown files of the repository, in the groups of docs/README.md, beside the API reference. It opens from a folder.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { chromium } from 'playwright-core'

const root = resolve(import.meta.dirname, '..')
const out = join(root, 'site')
const tools = join(root, 'test/versions/node_modules')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

interface Page {
  /** Path in the repository. */
  readonly file: string
  readonly group: string
  /** The first heading. */
  readonly title: string
  readonly summary: string
  readonly text: string
}

const page = (file: string, group: string, summary: string): Page => {
  const text = read(file)
  return { file, group, summary, text, title: /^# (.+)$/m.exec(text)?.[1] ?? file }
}

/** The first sentence of a page. */
const beginning = (text: string): string =>
  /^[A-Z][\s\S]*?[.:](?=\s)/m.exec(text.replace(/^#.*$/m, ''))?.[0] ?? ''

/** The pages that the lists of an index link to: its headings are the groups, and a colon leads to what a page explains. */
const listed = (index: string): Page[] =>
  read(index)
    .split(/^## /m)
    .slice(1)
    .flatMap((part) => {
      const [group = ''] = part.split('\n')
      return [...part.matchAll(/\]\(([^)#]+\.md)\)(?:: ([^;[\n]+))?/g)].map(([, link = '', summary]) => {
        const file = relative(root, resolve(root, dirname(index), link))
        return page(file, group, summary ?? beginning(read(file)))
      })
    })

const diagrams = /^```mermaid\n([\s\S]*?)^```$/gm

interface Diagram {
  readonly file: string
  readonly text: string
}

/**
 * Draws diagrams, in their order.
 *
 * @throws Error that names the page if one is not valid
 */
const drawAll = async (all: readonly Diagram[]): Promise<string[]> => {
  const { CHROMIUM_PATH = '/usr/bin/chromium-headless-shell' } = process.env
  const browser = await chromium.launch({ executablePath: CHROMIUM_PATH, args: ['--no-sandbox'] })
  try {
    const tab = await browser.newPage()
    await tab.addScriptTag({ path: join(tools, 'mermaid/dist/mermaid.min.js') })
    const drawn: string[] = []
    for (const [index, { file, text }] of all.entries()) {
      const drawing = tab.evaluate<string>(
        `(mermaid.initialize({ startOnLoad: false, theme: 'neutral' }), mermaid.render('d${index}', ${JSON.stringify(text)}).then(({ svg }) => svg))`,
      )
      drawn.push(
        await drawing.catch((error) => {
          throw new Error(`a diagram of ${file} is not valid: ${error.message}\n${text}`)
        }),
      )
    }
    return drawn
  } finally {
    await browser.close()
  }
}

/** The words of the last heading before a place in a page. */
const headingBefore = (text: string, at: number): string =>
  text
    .slice(0, at)
    .match(/^#+ .+$/gm)
    ?.at(-1)
    ?.replace(/^#+ /, '') ?? ''

/**
 * Front matter, diagrams as pictures, and only links to what the site has: sources are not in it. The home page is below the
 * name of the project, so it has no heading of its own.
 */
const prepared = ({ file, title, group, text }: Page, pictures: ReadonlyMap<string, string>): string => {
  const body = (file === 'README.md' ? text.replace(/^# .*\n+/, '') : text)
    .replaceAll(
      diagrams,
      (_, diagram: string, at: number) =>
        `![Diagram: ${headingBefore(text, at)}](${relative(dirname(file), pictures.get(diagram) ?? '')})`,
    )
    .replaceAll(
      /(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g,
      (link, words: string, path: string) => (files.has(join(dirname(file), path)) ? link : words),
    )
  return `---\ntitle: ${JSON.stringify(title)}\ngroup: ${JSON.stringify(group)}\n---\n\n${body}`
}

const pages = [
  ...listed('docs/README.md'),
  ...readdirSync(join(root, 'docs/recipes'))
    .filter((name) => name !== 'README.md')
    .map((name) => page(`docs/recipes/${name}`, 'Recipes', 'a complete program')),
  page('example-app/README.md', 'The project', 'the app that `npm start` starts'),
  page(
    'test/CONFORMANCE.md',
    'The project',
    'the modules of the conformance suite and the tests that show the same',
  ),
  page('test/CONFORMANCE-HOST.md', 'The project', 'how a host is set up for the conformance suite'),
  page('test/FAPI2.md', 'The project', 'the requirements of FAPI 2.0 and their tests'),
]
const files = new Set(['README.md', ...pages.map(({ file }) => file)])
const absent = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .map((name) => `docs/${name}`)
  .filter((name) => name.endsWith('.md') && name !== 'docs/README.md' && !files.has(name))
if (absent.length > 0) throw new Error(`docs/README.md does not lead to ${absent.join(', ')}`)

const source = mkdtempSync(join(tmpdir(), 'latchkey-site-'))
try {
  const found = pages.flatMap(({ file, text }) =>
    [...text.matchAll(diagrams)].map(([, diagram = '']): Diagram => ({ file, text: diagram })),
  )
  const svgs = await drawAll(found)
  const pictures = new Map(found.map(({ text }, index) => [text, `docs/pictures/diagram-${index + 1}.svg`]))
  cpSync(join(root, 'docs/pictures'), join(source, 'docs/pictures'), { recursive: true })
  for (const [index, svg] of svgs.entries())
    writeFileSync(join(source, `docs/pictures/diagram-${index + 1}.svg`), svg)
  for (const each of [...pages, page('README.md', '', '')]) {
    mkdirSync(dirname(join(source, each.file)), { recursive: true })
    writeFileSync(join(source, each.file), prepared(each, pictures))
  }
  rmSync(out, { recursive: true, force: true })
  const base = JSON.parse(read('typedoc.json'))
  const options = {
    ...base,
    tsconfig: join(root, base.tsconfig),
    entryPoints: base.entryPoints.map((file: string) => join(root, file)),
    out,
    readme: join(source, 'README.md'),
    projectDocuments: pages.map(({ file }) => join(source, file)),
    searchInDocuments: true,
    highlightLanguages: [
      'js',
      'ts',
      'sh',
      'json',
      'sql',
      'html',
      'css',
      'python',
      'nginx',
      'jsx',
      'http',
      'yaml',
      'dockerfile',
      'ini',
    ],
    customCss: join(root, 'scripts/site.css'),
    navigation: { includeGroups: true },
    groupOrder: [...new Set(pages.map(({ group }) => group)), '*'],
    sort: ['documents-first', 'source-order'],
  }
  const configuration = join(source, 'typedoc.json')
  writeFileSync(configuration, JSON.stringify(options))
  execFileSync(process.execPath, [join(tools, 'typedoc/bin/typedoc'), '--options', configuration], {
    stdio: 'inherit',
    cwd: root,
  })
  const groups = [...new Set(pages.map(({ group }) => group))].map((group) =>
    [
      `## ${group}`,
      '',
      ...pages.flatMap((each) =>
        each.group === group ? [`- [${each.title}](${each.file}): ${each.summary}`] : [],
      ),
    ].join('\n'),
  )
  const introduction = /^Latchkey is .+$/m.exec(read('README.md'))?.[0] ?? ''
  writeFileSync(join(out, 'llms.txt'), `# Latchkey\n\n> ${introduction}\n\n${groups.join('\n\n')}\n`)
  writeFileSync(
    join(out, 'llms-full.txt'),
    [read('README.md'), ...pages.map(({ text }) => text)].join('\n\n---\n\n'),
  )
  for (const { file, text } of pages) {
    mkdirSync(dirname(join(out, file)), { recursive: true })
    writeFileSync(join(out, file), text)
  }
} finally {
  rmSync(source, { recursive: true, force: true })
}
