/** What `package-lock.json` says about one package. */
interface Locked {
  readonly version?: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The packages of `package-lock.json`, by folder; the empty name is this package. */
export type Lock = Readonly<Record<string, Locked>>

/** Why each direct dependency is there. A new dependency needs a reason here. */
const reasons: Readonly<Record<string, string>> = {
  '@node-rs/argon2': 'hashes passwords in threads of its own; Node 20 has no argon2',
  '@node-rs/bcrypt': 'checks the bcrypt hashes that user tables have',
  bowser: 'names browsers and systems in the list of logins, from their User-Agent',
  cookie: 'reads and writes cookies as Express does',
  culori: 'computes colours with enough contrast from one accent colour',
  eta: 'renders the templates of the pages, and escapes each value',
  'fastest-levenshtein': 'finds the nearest name of a misspelt option or command',
  helmet: 'sets the security headers of the pages',
  jose: 'signs, verifies and encrypts JWTs',
  otpauth: 'computes the codes of authenticator apps',
  uqr: 'draws QR codes as SVG, without an image library',
}

const folderOf = (lock: Lock, name: string, from: string): string | undefined =>
  [`${from}/node_modules/${name}`, `node_modules/${name}`].find((folder) => folder in lock)

const nameIn = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 13)

/** The folders of the packages that `npm install latchkey` needs on every machine, without peers. */
const reachable = (lock: Lock): string[] => {
  const found = new Set<string>()
  const visit = (from: string): void => {
    for (const name of Object.keys(lock[from]?.dependencies ?? {})) {
      const folder = folderOf(lock, name, from)
      if (folder === undefined || found.has(folder)) continue
      found.add(folder)
      visit(folder)
    }
  }
  visit('')
  return [...found].sort()
}

const binaries = (package_: Locked | undefined): string => {
  const count = Object.keys(package_?.optionalDependencies ?? {}).length
  return count > 0 ? `; npm adds one of ${count} packages, a binary for the machine` : ''
}

/**
 * The text of `THIRD-PARTY.md`.
 *
 * @param lock the packages of `package-lock.json`
 * @returns Markdown: a table of the direct dependencies with their reasons, and one of those that they bring
 * @throws Error if a direct dependency has no reason, a reason has no dependency, or a package has no license
 * @example thirdParty(JSON.parse(readFileSync('package-lock.json', 'utf8')).packages)
 */
export const thirdParty = (lock: Lock): string => {
  const direct = Object.keys(lock['']?.dependencies ?? {})
  const unexplained = direct.filter((name) => !(name in reasons))
  if (unexplained.length > 0) throw new Error(`give a reason for ${unexplained.join(', ')}`)
  const unused = Object.keys(reasons).filter((name) => !direct.includes(name))
  if (unused.length > 0) throw new Error(`delete the reason for ${unused.join(', ')}`)
  const row = (folder: string, ...last: readonly string[]): string => {
    const { version, license } = lock[folder] ?? {}
    if (license === undefined) throw new Error(`${folder} names no license`)
    return `| ${[nameIn(folder), version, license, ...last].join(' | ')} |`
  }
  const all = reachable(lock)
  const ofDirect = all.filter((folder) => direct.includes(nameIn(folder)))
  const others = all.filter((folder) => !ofDirect.includes(folder))
  return [
    '# Third-party packages',
    '',
    'These packages come with `npm install latchkey`. Latchkey contains no copy of them. `npm run docs:third-party` writes this file.',
    '',
    '## Direct dependencies',
    '',
    '| package | tested version | license | why |',
    '|---|---|---|---|',
    ...ofDirect.map((folder) => row(folder, `${reasons[nameIn(folder)]}${binaries(lock[folder])}`)),
    '',
    '## What they bring',
    '',
    '| package | tested version | license |',
    '|---|---|---|',
    ...others.map((folder) => row(folder)),
    '',
  ].join('\n')
}
