// Code judges an error by its class, code, reason or members: its text may change at any time.
import type { Expression, Node, PrivateName } from '@babel/types'
import { nodesBelow, nodesOf, sources } from './sources.ts'

/** Methods that look into a text. */
const readers = new Set(
  'startsWith endsWith includes indexOf match matchAll search split slice substring replace replaceAll'.split(
    ' ',
  ),
)
/** Methods of expressions, lists and sets that look for their argument. */
const finders = new Set(['test', 'exec', 'has', 'includes', 'indexOf', 'match'])
/** Members that are words for people. */
const members = new Set(['message', 'stack', 'error_description'])
/** Functions that return such words. */
const functions = new Set(['reasonOf', 'messageOf', 'saidBy', 'failureOf', 'problemInWords'])
/** Names of what is caught. */
const thrown = /^(?:error|cause|thrown|failure|reason)$/

/** Files that read the words of other programs, which have no code for what happened. */
const foreign: Readonly<Record<string, string>> = {
  'lib/storage/database/errors.ts':
    'SQLite has no code for a missing table or column, and Knex puts the statement first',
  'lib/storage/database/migrate.ts':
    'databases have no code in common for a table that another process has created',
}

const nameOf = (node: Node | null | undefined): string => (node?.type === 'Identifier' ? node.name : '')
const propertyOf = (node: Node): string => {
  if (node.type !== 'MemberExpression' && node.type !== 'OptionalMemberExpression') return ''
  return node.property.type === 'StringLiteral' ? node.property.value : nameOf(node.property)
}
const calleeOf = (node: Node): Node | undefined =>
  node.type === 'CallExpression' || node.type === 'OptionalCallExpression' ? node.callee : undefined
const argumentsOf = (node: Node): readonly Node[] =>
  node.type === 'CallExpression' || node.type === 'OptionalCallExpression' ? node.arguments : []

/** The variables of functions that have a parameter of this name. */
const parametersIn = (nodes: readonly Node[]): ReadonlySet<Node> =>
  new Set(
    nodes.flatMap((node) => {
      const names = 'params' in node && Array.isArray(node.params) ? node.params.map(nameOf) : []
      return names.length > 0 ? nodesBelow(node).filter((each) => names.includes(nameOf(each) || '-')) : []
    }),
  )

interface Known {
  /** Names of variables that hold the text of an error. */
  readonly names: ReadonlySet<string>
  /** Variables that are parameters, of whom the names say nothing. */
  readonly parameters: ReadonlySet<Node>
}

/** Whether an expression is the text of an error. */
const isText = (node: Node, known: Known): boolean => {
  const { names, parameters } = known
  if (members.has(propertyOf(node)) || (names.has(nameOf(node)) && !parameters.has(node))) return true
  const callee = calleeOf(node)
  if (callee && functions.has(nameOf(callee))) return true
  const [first] = argumentsOf(node)
  if (nameOf(callee) === 'String' && first)
    return thrown.test(nameOf(first)) || nodesBelow(first).some((each) => isText(each, known))
  if (node.type === 'LogicalExpression') return isText(node.left, known) || isText(node.right, known)
  if (node.type === 'TemplateLiteral')
    return node.expressions.some((each) => thrown.test(nameOf(each)) || isText(each, known))
  return false
}

/** Variables that hold the text of an error. Names are of the whole file. */
const textNames = (nodes: readonly Node[], parameters: ReadonlySet<Node>): ReadonlySet<string> => {
  const names = new Set<string>()
  let size = -1
  while (size < names.size) {
    size = names.size
    for (const node of nodes) {
      if (node.type === 'VariableDeclarator' && node.init && isText(node.init, { names, parameters }))
        names.add(nameOf(node.id))
      if (node.type === 'ObjectPattern')
        for (const property of node.properties)
          if (property.type === 'ObjectProperty' && members.has(nameOf(property.key)))
            for (const each of nodesBelow(property.value)) names.add(nameOf(each))
    }
    names.delete('')
  }
  return names
}

/** `slice(0, 200)` only makes a text shorter. */
const isCut = (node: Node): boolean => {
  const [from] = argumentsOf(node)
  return from?.type === 'NumericLiteral' && from.value === 0
}

const isWord = (node: Expression | PrivateName): boolean => node.type === 'StringLiteral' && node.value !== ''

/** The lines of a file that read the text of an error, or in doctor the body of an answer. */
const readings = (source: string, path = ''): number[] => {
  const isBody = (node: Node) => path.startsWith('lib/tools/doctor/') && propertyOf(node) === 'text'
  const nodes = nodesOf(source)
  const parameters = parametersIn(nodes)
  const known = { names: textNames(nodes, parameters), parameters }
  return nodes.flatMap((node) => {
    const callee = calleeOf(node)
    const isRead =
      callee !== undefined &&
      'object' in callee &&
      ((readers.has(propertyOf(callee)) &&
        !isCut(node) &&
        (isText(callee.object, known) || isBody(callee.object))) ||
        (finders.has(propertyOf(callee)) &&
          argumentsOf(node).some((each) => isText(each, known) || isBody(each))))
    const isCompared =
      node.type === 'BinaryExpression' &&
      /^[=!]==?$/.test(node.operator) &&
      ((isText(node.left, known) && isWord(node.right)) || (isText(node.right, known) && isWord(node.left)))
    const isSwitched = node.type === 'SwitchStatement' && isText(node.discriminant, known)
    return isRead || isCompared || isSwitched ? [node.loc?.start.line ?? 0] : []
  })
}

const code = [...sources].filter(([path]) => path.endsWith('.ts') && !/\/(?:locales|texts)\//.test(path))

/** The lines of each file that read a text. */
const found = new Map<string, readonly number[]>()
beforeAll(() => {
  for (const [path, source] of code) {
    const lines = readings(source, path)
    if (lines.length > 0) found.set(path, lines)
  }
})

test('no code reads the text of an error, except that of other programs', () => {
  expect([...found].filter(([path]) => foreign[path] === undefined)).toEqual([])
})

test('every file that may read the words of other programs does so', () => {
  expect(Object.keys(foreign).filter((path) => !found.has(path))).toEqual([])
})

test.each([
  `if (error.message.startsWith('latchkey: ')) stop()`,
  `const [problem, fix] = error.message.split('; ')`,
  `const { message } = error\nif (/expired/.test(message)) stop()`,
  `const { cause: { message: words = '' } } = error\nString(words).slice(10)`,
  `const reason = reasonOf(cause)\nreason.split('; ')`,
  `if (String(error).includes('no such table')) stop()`,
  `if (answer.json?.error_description === 'code is expired') stop()`,
  `if (known.has(error.message)) stop()`,
  `switch (error.message) { default: stop() }`,
  `const text = \`\${error}\`\ntext.match(/expired/)`,
  `const said = error.message || error.name\nsaid.endsWith('!')`,
])('code that does is found: %s', (source) => {
  expect(readings(source)).not.toEqual([])
})

test('doctor reads no page of ours', () => {
  expect(readings(`answer.text.split('class="code"')`, 'lib/tools/doctor/mcp.ts')).toEqual([1])
  expect(readings('errorId.exec((await mount.get(path)).text)', 'lib/tools/doctor/requests.ts')).toEqual([1])
})

test.each([
  `log(error.message)`,
  `if (error.code === 'invalid_grant') stop()`,
  `if (error.message !== '') log(error.message)`,
  `if (error instanceof HostError) show(error.problem, error.fix)`,
  `messages.includes(name)`,
  'log(error.message.slice(0, 200))',
  'const { message } = error\nconst once = (message) => seen.has(message)',
])('code that does not is none: %s', (source) => {
  expect(readings(source)).toEqual([])
})
