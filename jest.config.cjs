require('./scripts/check-node.cjs')
const { availableParallelism } = require('node:os')

// Packages that ship ECMAScript modules only are compiled to CommonJS, like our own sources.
const esmOnly = ['jose', 'eta', 'openid-client', 'oauth4webapi', '@auth/core', 'arctic', '@oslojs/[a-z0-9]+']

/** @type {import('jest').Config} */
module.exports = {
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/environment/build.cjs',
  testEnvironment: '<rootDir>/test/environment/environment.cjs',
  transform: {
    '^<rootDir>/(lib|migrations)/.*\\.ts$': '<rootDir>/test/environment/transform.cjs',
    '^.+\\.[cm]?[jt]s$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'commonjs' } },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly.join('|')})/)`],
  modulePathIgnorePatterns: [
    '<rootDir>/dist/',
    '<rootDir>/test/versions/',
    '<rootDir>/test/mcp-hosts/node_modules/',
    '<rootDir>/test/next/',
  ],
  resolver: '<rootDir>/test/environment/resolver.cjs',
  moduleNameMapper: {
    '^latchkey$': '<rootDir>/lib/index.ts',
    '^latchkey/features$': '<rootDir>/lib/features/index.ts',
    '^latchkey/guard$': '<rootDir>/lib/guard/index.ts',
    '^latchkey/testing$': '<rootDir>/lib/tools/testing/index.ts',
  },
  setupFilesAfterEnv: ['<rootDir>/test/support/after-each-file.ts'],
  reporters: ['default', '<rootDir>/test/environment/reporter.cjs'],
  // Ends a test that hangs. It measures nothing: processes and browsers are slow on a machine that does other work.
  testTimeout: 120_000,
  testSequencer: '<rootDir>/test/support/slow-first.cjs',
  // Browsers, databases and other processes run beside the workers; a third one on two processors makes all of them slower.
  maxWorkers: Math.max(2, availableParallelism() - (process.env.CI ? 0 : 1)),
}
