// The size of the project is a figure, which rises only in figures.ts.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Figures, most } from './figures.ts'
import { type Graph, importGraph, loadedBy, nodesBelow, nodesOf, root, sources } from './sources.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
const words = (...paths: readonly string[]): number =>
  sum(paths.map((path) => read(path).split(/\s+/).filter(Boolean).length))

const lib = new Map([...sources].filter(([path]) => /^lib\/.*\.ts$/.test(path)))
const isTexts = (path: string): boolean => /\/(?:locales|texts)\//.test(path)
/** What is not part of a server without features. */
const beside = /^lib\/(?:features\/[^/]+|tools)\//

const linesOfCode = (source: string): number =>
  source
    .replaceAll(/^\s*\/\*[\s\S]*?\*\/.*$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length
const linesOf = (isCounted: (path: string) => boolean): number =>
  sum([...lib].filter(([path]) => isCounted(path) && !isTexts(path)).map(([, source]) => linesOfCode(source)))

const longestFunctionIn = (source: string): number =>
  Math.max(
    0,
    ...nodesOf(source)
      .filter(({ type }) => /Function|Method$/.test(type) && !type.startsWith('TS'))
      .map(({ loc }) => (loc ? loc.end.line - loc.start.line + 1 : 0)),
  )
const membersIn = (source: string, ...names: readonly string[]): number =>
  sum(
    nodesOf(source).map((node) =>
      node.type === 'TSInterfaceDeclaration' && names.includes(node.id.name) ? node.body.body.length : 0,
    ),
  )

/** The files that can be reached from one. */
const reachedFrom = (file: string, graph: Graph): ReadonlySet<string> => {
  const reached = new Set<string>(graph.get(file))
  for (const each of reached) for (const next of graph.get(each) ?? []) reached.add(next)
  return reached
}
const largestCircleIn = (graph: Graph): number => {
  const reach = new Map([...graph.keys()].map((file) => [file, reachedFrom(file, graph)]))
  const sizes = [...reach].map(
    ([file, reached]) => [...reached].filter((other) => reach.get(other)?.has(file)).length,
  )
  return Math.max(...sizes)
}

const definition = /^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm
/** Files that each feature has, and the tables of texts, name alike what is alike. */
const alike = new Set([
  'members',
  'failures',
  'quotas',
  'samples',
  'tools',
  'texts',
  'operatorTexts',
  'eventDescriptions',
])
const namesTwice = (): string[] => {
  const names = [...lib]
    .filter(([path]) => !isTexts(path))
    .flatMap(([, source]) => [...new Set([...source.matchAll(definition)].map(([, name = '']) => name))])
    .filter((name) => !alike.has(name))
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}

const namesForFeatures = (): Set<string> => {
  const names = [...lib]
    .filter(([path]) => /^lib\/features\/[^/]+\//.test(path))
    .flatMap(([path, source]) =>
      [...source.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm)]
        .filter(([, , from = '']) => !posix.join(posix.dirname(path), from).startsWith('lib/features/'))
        .flatMap(([, imported = '']) => imported.split(',')),
    )
  return new Set(names.map((name) => name.trim().replace(/^type | as .*/g, '')).filter(Boolean))
}

/** Files that only say what a feature adds. */
const contractFiles = [
  'lib/features/feature.ts',
  'lib/oauth/clients/client-data.ts',
  'lib/oauth/client-authentication/client-source.ts',
  'lib/web/http/account-page.ts',
]
/** Interfaces of other files that say what a feature adds. */
const contractParts: Readonly<Record<string, readonly string[]>> = {
  'lib/oauth/authorization-server.ts': ['UserData', 'StartedFeature'],
  'lib/oauth/tokens/verified-token.ts': ['TokenKind'],
  'lib/web/endpoints/index.ts': ['FeatureEndpoints'],
  'lib/web/endpoints/login-form.ts': ['SignInMethod', 'SignInStep'],
  'lib/web/endpoints/operator-page.ts': ['FeatureOperators'],
}

const folders = [...lib.keys()].map((path) => posix.dirname(path))
const measured: Figures = {
  lines: linesOf(() => true),
  coreLines: linesOf((path) => !beside.test(path)),
  namesInLib: readdirSync(join(root, 'lib')).length,
  featureMembers:
    membersIn(read('lib/features/feature.ts'), 'FeatureDefinition', 'FeatureParts', 'ActiveFeature') +
    membersIn(read('lib/oauth/authorization-server.ts'), 'StartedFeature'),
  featureMembersAtEveryDepth: sum(
    [
      ...contractFiles.map((path) => nodesOf(read(path))),
      ...Object.entries(contractParts).map(([path, names]) =>
        nodesOf(read(path)).flatMap((node) =>
          node.type === 'TSInterfaceDeclaration' && names.includes(node.id.name) ? nodesBelow(node) : [],
        ),
      ),
    ].map((nodes) => nodes.filter(({ type }) => /^TS(?:Property|Method)Signature$/.test(type)).length),
  ),
  namesForFeatures: namesForFeatures().size,
  largestCircle: largestCircleIn(importGraph(lib, { types: true })),
  filesOfResourceServer: loadedBy('lib/guard/resource-server.ts', lib).length,
  declaredModules: sum([...lib.values()].map((source) => source.match(/^declare module /gm)?.length ?? 0)),
  namesTwice: namesTwice().length,
  longestFunction: Math.max(...[...lib.values()].map(longestFunctionIn)),
  largestFolder: Math.max(...folders.map((folder) => folders.filter((other) => other === folder).length)),
  supportLines: sum(filesIn('test/support', '.ts').map((path) => read(path).split('\n').length - 1)),
  wordsOfReadme: words('README.md'),
  wordsOfContributing: words('CONTRIBUTING.md'),
  wordsOfDocs: words(...filesIn('docs', '.md')),
}

test.each(Object.entries(most))(
  '%s is what figures.ts says, within one in a hundred below',
  (name, figure) => {
    const now = measured[name as keyof Figures]
    expect(now).toBeLessThanOrEqual(figure)
    // A figure that was lowered stays low.
    expect(Math.ceil(now * 1.01)).toBeGreaterThanOrEqual(figure)
  },
)
