import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

// Each is loaded on first use: it takes 3 MB, and few user tables have hashes of both.
export const loadArgon2 = () => import('@node-rs/argon2')
export const loadBcrypt = () => import('@node-rs/bcrypt')

/** The C library of this Linux, as the names of binaries spell it; empty if it is unknown. */
const libc = (): string => {
  try {
    return readFileSync('/usr/bin/ldd', 'utf8').includes('musl') ? 'musl' : 'gnu'
  } catch {
    return ''
  }
}

/** Whether the package with the binary for this platform is installed beside the library. */
const hasBinary = (name: string, require: NodeJS.Require): boolean => {
  const { optionalDependencies = {} } = require('./package.json')
  const platform = `${name}-${process.platform}-${process.arch}`
  const isOurs = (binary: string): boolean =>
    binary.startsWith(platform) &&
    (process.platform !== 'linux' || binary.slice(platform.length).includes(libc()))
  return Object.keys(optionalDependencies)
    .filter(isOurs)
    .some((binary) => {
      try {
        return Boolean(require.resolve(binary))
      } catch {
        return false
      }
    })
}

/**
 * Finds a library of password hashes that cannot be loaded when the server starts, and not at a user's sign-in, without
 * loading those whose binary is installed.
 *
 * @param from the file that the libraries are resolved from
 * @throws the library's own error
 */
export const assertPasswordLibraries = (
  names: readonly string[] = ['@node-rs/argon2', '@node-rs/bcrypt'],
  from = import.meta.url,
): void => {
  const require = createRequire(from)
  for (const name of names) {
    if (!hasBinary(name, createRequire(require.resolve(name)))) require(name)
  }
}
