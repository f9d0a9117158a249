import type { BuildOptions } from 'esbuild'

/** How a bundle of the library is made, for the package (`bundle.ts`) and for measurements (`bench/compile.ts`). */
export const bundled = {
  bundle: true,
  splitting: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  // The texts of the pages as they are, instead of as escapes.
  charset: 'utf8',
  // The oldest Node that the package supports.
  target: 'node20.19',
} as const satisfies BuildOptions
