const { join } = require('node:path')

exports.root = join(__dirname, '../..')

/** Where the bundles are; git ignores it. */
exports.folder = join(exports.root, 'test/.artifacts/library')

/** Packages that most test files load: each worker loads them once, like the library, and tests share its instance. */
exports.packages = [
  '@opentelemetry/api',
  '@simplewebauthn/server',
  '@simplewebauthn/server/helpers',
  'bowser',
  'cookie',
  'eta',
  'express',
  'express-session',
  'fast-check',
  'fastest-levenshtein',
  'helmet',
  'jose',
  'knex',
  'otpauth',
  'standardwebhooks',
  'supertest',
  'uqr',
]

/** The file that stands for a package in jest's own module registry. */
exports.standIn = (name) => join(exports.folder, 'packages', `${name}.js`)
