/** Writes docs/options.json and the lists of docs/options.md from the schema of the options and its comments. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from '@babel/parser'
import type { Comment, Node, ObjectExpression } from '@babel/types'
import { everyFunction } from '../lib/features/every.ts'
import type { ListedFeature } from '../lib/options/features.ts'
import { optionTree } from '../lib/options/options.ts'
import { memberPath, type Schema } from '../lib/options/schema.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** One option, as docs/options.json has it. */
export interface OptionDoc {
  /** Such as `lifetimes.code`; `*` is a name that the host chooses, `[]` each item of a list. */
  readonly path: string
  /** What follows "must be". */
  readonly must: string
  readonly required?: true
  readonly default?: string
  /** The least and the most of a number. */
  readonly range?: Schema['range']
  readonly description: string
}

// The comments: a tree beside the tree of schemas. Constants are found by their names, first in the same file.

interface Comments {
  readonly text: string
  readonly node?: Node | undefined
  readonly file: string
}

type Constants = ReadonlyMap<string, Node>

const walk = (node: unknown, visit: (node: Node) => void): void => {
  if (typeof node !== 'object' || node === null) return
  if ('type' in node && typeof node.type === 'string') visit(node as Node)
  for (const [name, child] of Object.entries(node))
    if (name !== 'loc' && !name.endsWith('Comments')) walk(child, visit)
}

/** The constants of a file, those of its functions included. */
const constantsOf = (file: string): Constants => {
  const constants = new Map<string, Node>()
  walk(parse(read(file), { sourceType: 'module', plugins: ['typescript'] }).program, (node) => {
    if (node.type !== 'VariableDeclarator' || node.id.type !== 'Identifier' || !node.init) return
    if (!constants.has(node.id.name)) constants.set(node.id.name, node.init)
  })
  return constants
}

const isExported = (file: string, name: string): boolean =>
  new RegExp(`^export const ${name}\\b`, 'm').test(read(file))

const core = readdirSync(join(root, 'lib/options'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `lib/options/${name}`)
const ofFeatures = readdirSync(join(root, 'lib/features'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `lib/features/${name}/option.ts`)
const sources = new Map([...core, ...ofFeatures].map((file) => [file, constantsOf(file)]))

const textOf = (comments: readonly Comment[] | null | undefined): string =>
  (comments ?? [])
    .filter(({ value }) => value.startsWith('*'))
    .slice(-1)
    .map(({ value }) =>
      value
        .replace(/^\*/, '')
        .replaceAll(/^\s*\* ?/gm, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .join('')

const constant = (name: string, file: string): Omit<Comments, 'text'> | undefined => {
  for (const each of [file, ...core]) {
    const node = sources.get(each)?.get(name)
    if (node && (each === file || isExported(each, name))) return { node, file: each }
  }
  return undefined
}

const ofObject = ({ properties }: ObjectExpression, file: string): [string, Comments][] =>
  properties.flatMap((property): [string, Comments][] => {
    if (property.type === 'SpreadElement') return membersOf(property.argument, file)
    if (property.type !== 'ObjectProperty' || property.key.type !== 'Identifier') return []
    return [[property.key.name, { text: textOf(property.leadingComments), node: property.value, file }]]
  })

/** The members of what a function returns. */
const returnedBy = (node: Node | null | undefined, file: string): [string, Comments][] => {
  if (node?.type !== 'ArrowFunctionExpression') return []
  if (node.body.type !== 'BlockStatement') return membersOf(node.body, file)
  return node.body.body.flatMap((each) =>
    each.type === 'ReturnStatement' ? membersOf(each.argument, file) : [],
  )
}

/** The members that an expression has, whatever functions it goes through. */
const membersOf = (node: Node | null | undefined, file: string): [string, Comments][] => {
  if (node?.type === 'ObjectExpression') return ofObject(node, file)
  if (node?.type === 'CallExpression') {
    const called = node.callee.type === 'Identifier' ? constant(node.callee.name, file) : undefined
    const isHelper = called?.file === 'lib/options/schema.ts'
    return [
      ...node.arguments.flatMap((argument) => membersOf(argument, file)),
      ...(called && !isHelper ? returnedBy(called.node, called.file) : []),
    ]
  }
  const found = node?.type === 'Identifier' ? constant(node.name, file) : undefined
  return found ? membersOf(found.node, found.file) : []
}

const links = /\bdocs\/([\w-]+)\.md(#[\w-]+)?/g
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** The heading that a link leads to. */
const headingOf = (page: string, anchor?: string): string => {
  const headings = [...read(`docs/${page}.md`).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  const found = anchor === undefined ? headings[0] : headings.find((each) => `#${anchorOf(each)}` === anchor)
  if (found === undefined) throw new Error(`docs/${page}.md has no ${anchor}`)
  return found
}

const words = (value: unknown): string => {
  if (value === console) return '`console`'
  if (Array.isArray(value)) return `\`[${value.map((each) => `'${each}'`).join(', ')}]\``
  if (typeof value !== 'object' || value === null)
    return `\`${typeof value === 'string' ? `'${value}'` : String(value)}\``
  const inside = Object.entries(value).map(([name, each]) => `${name}: ${each}`)
  return inside.length === 0 ? '`{}`' : `\`{ ${inside.join(', ')} }\``
}

/** Every option below a schema. */
const docsOf = (path: string, schema: Schema, comments: Comments): OptionDoc[] => {
  const [description = '', said] = comments.text.split(/\s*@default /)
  const given = said ?? (schema.default === undefined ? undefined : words(schema.default))
  const own: OptionDoc = {
    path,
    must: schema.what,
    ...(schema.isRequired && { required: true as const }),
    ...(given !== undefined && { default: given }),
    ...(schema.range && { range: schema.range }),
    description,
  }
  const inner = schema.of
    ? docsOf(
        `${path}${Array.isArray(schema.default) || schema.what.startsWith('a list') ? '[]' : '.*'}`,
        schema.of,
        {
          ...comments,
          text: '',
        },
      ).slice(1)
    : membersIn(path, schema, comments)
  return [own, ...inner]
}

const membersIn = (path: string, schema: Schema, { node, file }: Comments): OptionDoc[] => {
  return docsIn(path, schema, membersOf(node, file), file)
}

const docsIn = (
  path: string,
  { members = {} }: Schema,
  comments: readonly [string, Comments][],
  file: string,
): OptionDoc[] => {
  const known = new Map(comments)
  return Object.entries<Schema>({ ...members }).flatMap(([name, schema]) =>
    docsOf(memberPath(path, name), schema, known.get(name) ?? { text: '', file }),
  )
}

/** The function that a folder of features makes with these constants of its `option.ts`. */
interface Made {
  readonly file: string
  readonly constants: Readonly<Record<string, string>>
}

/** The second argument of a call, if it is an object: that of `defineFeature` describes a feature. */
const partsOf = (value: Node): ObjectExpression | undefined => {
  const parts = value.type === 'CallExpression' ? value.arguments[1] : undefined
  return parts?.type === 'ObjectExpression' ? parts : undefined
}

const nameIn = (parts: ObjectExpression | undefined): string | undefined => {
  const name = parts?.properties.find(
    (each) => each.type === 'ObjectProperty' && each.key.type === 'Identifier' && each.key.name === 'name',
  )
  return name?.type === 'ObjectProperty' && name.value.type === 'StringLiteral' ? name.value.value : undefined
}

/** The constants that an object names, also within a group such as `limits`. */
const constantsIn = ({ properties }: ObjectExpression): [string, string][] =>
  properties.flatMap((each): [string, string][] => {
    if (each.type !== 'ObjectProperty' || each.key.type !== 'Identifier') return []
    if (each.value.type === 'ObjectExpression') return constantsIn(each.value)
    return each.value.type === 'Identifier' ? [[each.key.name, each.value.name]] : []
  })

/** The constants of the call of `defineFeature` that makes a function. */
const madeBy = (name: string): Made => {
  for (const folder of ofFeatures) {
    const values = constantsOf(folder.replace('option.ts', 'index.ts')).values()
    const parts = [...values].map(partsOf).find((each) => nameIn(each) === name)
    if (parts === undefined) continue
    return { file: folder, constants: Object.fromEntries(constantsIn(parts)) }
  }
  throw new Error(`no folder of lib/features makes ${name}`)
}

/** The comment on a constant. */
const commentOn = (file: string, name: string): string => {
  let found = ''
  walk(parse(read(file), { sourceType: 'module', plugins: ['typescript'] }).program, (node) => {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration?.type !== 'VariableDeclaration') return
    const [declared] = node.declaration.declarations
    if (declared?.id.type === 'Identifier' && declared.id.name === name) found = textOf(node.leadingComments)
  })
  return found
}

/** The options of every feature, by its call. */
const featureDocs = (): OptionDoc[] =>
  [...everyFunction].flatMap(([name, make]) => {
    const { file, constants } = madeBy(name)
    const schema = (make.off() as ListedFeature).schemaOf()
    const own = (part: string): [string, Comments][] =>
      constants[part] === undefined ? [] : membersOf(sources.get(file)?.get(constants[part]), file)
    const call = `${name}()`
    const [members, failures, quotas] = ['members', 'failures', 'quotas'].map(own)
    const limits: Schema | undefined = Reflect.get(Object(schema.members), 'limits')
    const ofLimits = docsIn(
      memberPath(`${name}({})`, 'limits'),
      limits ?? schema,
      [...(failures ?? []), ...(quotas ?? [])],
      file,
    )
    const { limits: _, ...others } = Object(schema.members)
    return [
      {
        path: call,
        must: 'a feature',
        default: 'off',
        description: commentOn(file, constants.members ?? ''),
      },
      ...docsIn(`${name}({})`, { ...schema, members: others }, members ?? [], file),
      ...ofLimits,
    ]
  })

/** Every option, in the order of the schema, and then those of the features. */
export const optionDocs = (): OptionDoc[] => {
  const file = 'lib/options/options.ts'
  const known = membersOf(sources.get(file)?.get('optionTree'), file)
  const found = [...docsIn('', optionTree, known, file), ...featureDocs()]
  const silent = found.filter(({ path, description }) => description === '' && !/\.(max|seconds)$/.test(path))
  if (silent.length > 0) throw new Error(`no comment on ${silent.map(({ path }) => path).join(', ')}`)
  return found.filter(({ description }) => description !== '')
}

/** With the links of a description as links of the page. */
const linked = (text: string): string =>
  text.replaceAll(links, (_all, page, anchor) => `[${headingOf(page, anchor)}](${page}.md${anchor ?? ''})`)

const spans: Readonly<Record<string, string>> = {
  60: 'a minute',
  900: '15 minutes',
  3600: 'an hour',
  86400: 'a day',
}

/** A default as the page writes it: limits in words. */
const shown = (given: string): string =>
  given.replace(
    /^`\{ max: (\d+), seconds: (\d+) \}`$/,
    (_, max, seconds) => `${max} in ${spans[seconds] ?? `${seconds} seconds`}`,
  )

/** Defaults that the page explains once. */
const isOff = (given: string): boolean => ['none', 'off', '`false`', '`{}`', '`[]`'].includes(given)

/** What the value must be, where the description leaves it open. */
const choiceOf = ({ must, description, range: { min = 1, max } = {} }: OptionDoc): string => {
  if (max !== undefined) return ` From ${min} to ${max}.`
  const values = must.includes('such as') ? [] : (must.match(/'[^']+'/g) ?? [])
  return values.some((value) => !description.includes(value)) ? ` It is ${must}.` : ''
}

/** Sentences that say what else an option needs or must not do. */
const condition =
  /^(?:Required|It requires|They require|Not together|It must|There is no other guard|They are deprecated)\b/

/** The first sentence of a description, its conditions, and the pages to which other sentences lead. */
const briefly = (description: string): string => {
  const [first = '', ...others] = description.split(/(?<=\.\)?)\s+(?=[A-Z`'“[])/)
  const kept = others.filter((each) => condition.test(each))
  const left = others.filter((each) => !condition.test(each)).join(' ')
  return [first, ...kept, ...[...left.matchAll(links)].map(([link]) => `See ${link}.`)].join(' ')
}

/** The page to which a description leads at the end of a sentence. Its option links there. */
const way = /(?:(?<=\.) See|:| \() ?docs\/([\w-]+)\.md(#[\w-]+)?(?:\)|(?<=See \S+)\.)?/

/** @param name as it stands in the list. @param inherited the default of the option around it */
const item = (doc: OptionDoc, name: string, inherited?: string): string => {
  const { required, default: given, description } = doc
  const start = given === undefined || isOff(given) || given === inherited ? '' : ` (${linked(shown(given))})`
  const brief = briefly(description)
  const [, page, anchor = ''] = way.exec(brief) ?? []
  if (page !== undefined) headingOf(page, anchor === '' ? undefined : anchor)
  const shownName = page === undefined ? `\`${name}\`` : `[\`${name}\`](${page}.md${anchor})`
  const text = `${linked(brief.replace(way, ''))}${choiceOf(doc)}`
  return `${doc.path.includes('({') ? '  ' : ''}- ${shownName}${required ? ' (required)' : start}: ${text}`
}

/** An option below its heading; an option of a feature below its function: `limits.document`. */
const nameBelow = (path: string, below: string): string =>
  path.includes('({')
    ? path.replace(/^\w+\(\{ (\w+) \}\)/, '$1')
    : path.slice(below === '' ? 0 : below.length + 1).replace(/^\*\./, '')

const defaultAround = ({ path }: OptionDoc, docs: readonly OptionDoc[]): string | undefined =>
  path.includes('.') ? docs.find((each) => each.path === path.replace(/\.[^.]+$/, ''))?.default : undefined

const list = (docs: readonly OptionDoc[], below: string): string =>
  docs.map((doc) => item(doc, nameBelow(doc.path, below), defaultAround(doc, docs))).join('\n')

/** An option in another language, which `locales` around it stands for. */
const isTranslation = ({ path }: OptionDoc): boolean => /^(?!pages\.).*\.locales\.\*/.test(path)

/** The lists of docs/options.md. */
const lists = (all: readonly OptionDoc[]): string => {
  const docs = all.filter((doc) => !isTranslation(doc))
  const top = docs.filter(({ path }) => !/[.[(]/.test(path))
  const parts = top.flatMap(({ path }) => {
    const isBelow = path === 'features' ? /\(/ : new RegExp(`^${path}[.[]`)
    const below = docs.filter((doc) => doc.path !== path && isBelow.test(doc.path))
    return below.length === 0 ? [] : [`## ${path}\n\n${list(below, path === 'features' ? '' : path)}`]
  })
  return [`## All options\n\n${list(top, '')}`, ...parts].join('\n\n')
}

const marks = ['<!-- written by npm run docs:options -->', '<!-- end -->'] as const

/** What the two files must contain, by path. */
export const optionFiles = (): Readonly<Record<string, string>> => {
  const docs = optionDocs()
  const page = read('docs/options.md')
  const [begin, end] = [page.indexOf(marks[0]), page.indexOf(marks[1])]
  if (begin < 0 || end < begin) throw new Error(`docs/options.md lacks ${marks.join(' and ')}`)
  return {
    'docs/options.json': `${JSON.stringify(docs, null, 2)}\n`,
    'docs/options.md': `${page.slice(0, begin + marks[0].length)}\n\n${lists(docs)}\n\n${page.slice(end)}`,
  }
}

if (import.meta.filename === process.argv[1]) {
  for (const [file, text] of Object.entries(optionFiles())) writeFileSync(join(root, file), text)
}
