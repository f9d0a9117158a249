import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as functions from '../../lib/features/index.ts'
import { OptionsError } from '../../lib/options/check.ts'
import { resolveOptions } from '../../lib/options/resolve.ts'

// Every option that docs/options.json lists, one after the other.

interface Doc {
  readonly path: string
  readonly must: string
  readonly required?: true
  readonly range?: { readonly min: number; readonly max?: number }
}
const listed: readonly Doc[] = JSON.parse(readFileSync(join(__dirname, '../../docs/options.json'), 'utf8'))
/** An option of a feature stands here as `features.device.interval`. */
const docs = listed
  .filter(({ path }) => !path.endsWith('()'))
  .map((doc) => ({ ...doc, path: doc.path.replace(/^(\w+)\(\{ (\w+) \}\)/, 'features.$1.$2') }))

const works = () => undefined
/** Right values of required options. */
const right: Readonly<Record<string, unknown>> = {
  'users.table': 'people',
  'users.columns': { id: 'id', username: 'email', password: 'hash' },
  'users.columns.id': 'id',
  'users.columns.username': 'email',
  'users.columns.password': 'hash',
  'access.allow': works,
  'users.find': works,
  'users.authenticate': works,
  'login.providers[].name': 'Larch',
  'login.providers[].url': '/larch',
  'scopes.*.description': 'See',
  'scopes.*.locales.*.description': 'Sehen',
  'choices.*.name': { one: 'project', other: 'projects' },
  'choices.*.name.one': 'project',
  'choices.*.name.other': 'projects',
  'choices.*.locales.*.one': 'Projekt',
  'choices.*.locales.*.other': 'Projekte',
  'choices.*.scopes': ['see'],
  'choices.*.list': works,
  'choices.*.find': works,
  'resources.*.scopes': [],
  'pages.locales.*.texts': {},
  'protocol.tokenExchange.allow': works,
  'features.admin.allow': works,
  'features.developers.allow': works,
  'features.secondFactor.find': works,
  'features.trustedIssuers.issuers': {},
  'features.webhooks.endpoints': {},
  'features.webhooks.endpoints.*.url': 'https://crm.example.com/webhooks',
  'features.webhooks.endpoints.*.secrets': [`whsec_${'A'.repeat(32)}`],
  'features.webhooks.endpoints.*.events': ['*'],
  'protocol.grants[].grantType': 'urn:example:pin',
  'protocol.grants[].exchange': works,
  'protocol.authorizationDetails.*.description': 'Pay',
  'protocol.authorizationDetails.*.locales.*.description': 'Zahlen',
}
/** A name that an object may have whose names the host chooses. */
const names: Readonly<Record<string, string>> = {
  scopes: 'see',
  choices: 'project',
  resources: 'https://api.example.com',
  'features.webhooks.endpoints': 'crm',
}
const nameIn = (path: string): string => (path.endsWith('locales') ? 'de' : (names[path] ?? 'urn:example:x'))

/** The users have a table or functions. */
const isFunctionForm = (path: string) => /^users\.(find|authenticate|claims)/.test(path)
const siblingsOf = (path: string): object => {
  const [, parent = ''] = /^(.*)\.\w+$/.exec(path) ?? []
  const needed = docs.filter(
    (doc) =>
      doc.required &&
      doc.path !== path &&
      new RegExp(`^${parent.replace(/[.*[\]]/g, '\\$&')}\\.\\w+$`).test(doc.path) &&
      (parent !== 'users' || isFunctionForm(doc.path) === isFunctionForm(path)),
  )
  expect(needed.filter((doc) => !(doc.path in right))).toEqual([])
  return Object.fromEntries(needed.map((doc) => [doc.path.slice(parent.length + 1), right[doc.path]]))
}

/** Options in which one has this value, and the path as errors have it. */
const withValue = (path: string, value: unknown): { options: object; where: string } => {
  let options: unknown = value
  let [rest, where] = [path, '']
  while (rest !== '') {
    const [, parent = '', name = ''] = /^(?:(.*?)\.)?(\w+|\*)$/.exec(rest.replace(/\[\]$/, '')) ?? []
    if (rest.endsWith('[]')) {
      options = [options]
      where = `[0]${where}`
    }
    const isChosen = name === '*'
    const key = isChosen ? nameIn(parent) : name
    const own = parent === '' ? name : `${parent}.${name}`
    options = { ...(isChosen || parent === '' ? {} : siblingsOf(own)), [key]: options }
    where = isChosen ? `['${key}']${where}` : `${parent === '' ? '' : '.'}${name}${where}`
    rest = parent
  }
  const given = options as { readonly features?: Readonly<Record<string, object>> }
  if (!path.startsWith('features.')) return { options: given, where }
  const calls = Object.entries(given.features ?? {}).map(([name, own]) => Reflect.get(functions, name)(own))
  return {
    options: { ...given, features: calls },
    where: where.replace(/^features\.(\w+)\.(\w+)/, '$1({ $2 })'),
  }
}

const base = {
  issuer: 'https://app.example.com/oauth',
  database: { client: 'pg' },
  secrets: ['s'.repeat(32)],
}
const refusal = (options: object): string => {
  try {
    resolveOptions({ ...base, ...options }, { NODE_ENV: 'test' })
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError)
    return (error as Error).message
  }
  return 'nothing'
}

test('the list is long', () => expect(docs.length).toBeGreaterThan(150))

test.each(docs)('$path: a wrong value is refused with what it must be', ({ path, must }) => {
  const { options, where } = withValue(path, 0.5)
  expect(refusal(options)).toBe(`latchkey: ${where} must be ${must}`)
})

test.each(docs)('$path: a name that is nearly right is refused with the right one', ({ path }) => {
  const { options, where: wrong } = withValue(`${path}_`, 0.5)
  const { where } = withValue(path, 0.5)
  expect(refusal(options)).toBe(`latchkey: ${wrong} is not an option; did you mean ${where}?`)
})

const ranges = docs.flatMap(({ path, must, range }) => (range ? [{ path, must, ...range }] : []))
test.each(ranges)('$path: a number out of range is refused', ({ path, must, min, max }) => {
  for (const value of [min - 1, ...(max === undefined ? [] : [max + 1])]) {
    const { options, where } = withValue(path, value)
    expect(refusal(options)).toBe(`latchkey: ${where} must be ${must}`)
  }
})

test('a name that stands elsewhere is refused with its place', () => {
  expect(refusal({ tablePrefix: 'x_' })).toContain('did you mean database.tablePrefix?')
  expect(refusal({ dpop: true })).toContain('did you mean protocol.dpop?')
})
