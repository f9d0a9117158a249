const { join, sep } = require('node:path')
const { packages, root, standIn } = require('./paths.cjs')

/** `@scope/name` of `@scope/name/part`. */
const packageOf = (name) => /^(@[^/]+\/)?[^/]+/.exec(name)[0]

/** A package that all files share, unless the module needs another version, which is then in a folder of its own. */
module.exports = (name, options) => {
  const path = options.defaultResolver(name, options)
  return packages.includes(name) && path.startsWith(join(root, 'node_modules', packageOf(name)) + sep)
    ? standIn(name)
    : path
}
