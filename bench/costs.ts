interface Node {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

/** A processor profile in V8's format. */
export interface Profile {
  readonly nodes: readonly Node[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface Cost {
  readonly where: string
  /** Shares of the processor's busy time. */
  readonly self: number
  readonly inclusive: number
}

/** The compiled library also lies under `node_modules`, in the folder of the benchmark. */
const placeOf = ({ callFrame: { url, functionName, lineNumber } }: Node): string => {
  const own = /\/latchkey-bench-[^/]+\/(.+)\.js$/.exec(url)?.[1]
  const dependency = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (own) return `${own}:${functionName || `(line ${lineNumber + 1})`}`
  return dependency ? `[${dependency}] ${functionName}` : `${functionName} ${url}`.trim()
}

const timesOf = ({ samples, timeDeltas }: Profile): Map<number, number> => {
  const times = new Map<number, number>()
  samples.forEach((id, index) => {
    times.set(id, (times.get(id) ?? 0) + (timeDeltas[index] ?? 0))
  })
  return times
}

/** Self and inclusive shares of every function; a recursive call counts once. */
export const costsOf = (profile: Profile): Cost[] => {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const times = timesOf(profile)
  const [self, inclusive] = [new Map<string, number>(), new Map<string, number>()]
  let busy = 0
  const visit = (node: Node, above: ReadonlySet<string>): number => {
    const place = placeOf(node)
    const own = place === '(idle)' ? 0 : (times.get(node.id) ?? 0)
    const inner = above.has(place) ? above : new Set([...above, place])
    const total = (node.children ?? []).reduce((sum, id) => {
      const child = nodes.get(id)
      return sum + (child ? visit(child, inner) : 0)
    }, own)
    busy += own
    self.set(place, (self.get(place) ?? 0) + own)
    if (inner !== above) inclusive.set(place, (inclusive.get(place) ?? 0) + total)
    return total
  }
  const [root] = profile.nodes
  if (root) visit(root, new Set())
  return [...inclusive].map(([where, time]) => ({
    where,
    self: (self.get(where) ?? 0) / busy,
    inclusive: time / busy,
  }))
}

const partOf = (where: string): string => {
  const [folder] = /^(lib|bench)\/[^/:]+/.exec(where) ?? []
  const [dependency] = /^\[[^\]]+\]/.exec(where) ?? []
  return folder ?? dependency ?? (/ node:/.test(where) ? 'node' : where)
}

/** Self time by folder, package or native function. */
export const partsOf = (costs: readonly Cost[]): Cost[] => {
  const parts = new Map<string, number>()
  for (const { where, self } of costs) parts.set(partOf(where), (parts.get(partOf(where)) ?? 0) + self)
  return [...parts].map(([where, self]) => ({ where, self, inclusive: self }))
}
