const { relative } = require('node:path')
const { createTransformer } = require('@swc/jest')
const { root } = require('./paths.cjs')

const compile = createTransformer({
  jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
  module: { type: 'commonjs' },
})

/** Takes modules of the library out of the bundle. Coverage is counted in the modules themselves. */
module.exports = {
  process: (text, path, options) =>
    options.instrument
      ? compile.process(text, path, options)
      : {
          code: `module.exports = latchkeyTests.library['./${relative(root, path).replaceAll('\\', '/')}']()`,
        },
}
