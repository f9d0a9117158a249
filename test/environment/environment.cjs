const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { constants, createContext, runInContext, Script } = require('node:vm')
const { ModernFakeTimers } = require('@jest/fake-timers')
const { ModuleMocker } = require('jest-mock')
const { installCommonGlobals } = require('jest-util')
const { folder, root } = require('./paths.cjs')

/**
 * A context whose global is a plain object. In jest's own environment it is a proxy, through which V8 looks up even
 * `Promise` and `JSON`: one access takes 50 times as long.
 */
const openContext = () => {
  const context = createContext(constants.DONT_CONTEXTIFY)
  const global = runInContext('globalThis', context)
  const define = (key, enumerable, value) =>
    Object.defineProperty(global, key, { configurable: true, enumerable, writable: true, value })
  for (const [key, { enumerable }] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    if (key in global) continue
    // Node loads some of its globals when they are used first.
    Object.defineProperty(global, key, {
      configurable: true,
      enumerable,
      get: () => define(key, enumerable, globalThis[key])[key],
      set: (value) => void define(key, enumerable, value),
    })
  }
  // A buffer of Node is one of these.
  Object.assign(global, { global, Uint8Array, ArrayBuffer })
  installCommonGlobals(global, {})
  global.Error.stackTraceLimit = 100
  return { context, global }
}

/** Runs a bundle in the context. */
const load = ({ context }, file, require) => {
  const path = join(folder, file)
  const script = new Script(`(function (exports, require) {${readFileSync(path, 'utf8')}\n})`, {
    filename: path,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const exports = {}
  script.runInContext(context)(exports, require)
  return exports
}

const open = () => {
  const opened = openContext()
  const requireOfNode = createRequire(join(root, 'package.json'))
  const packages = load(opened, 'packages.js', requireOfNode)
  const library = load(opened, 'library.js', (name) => (packages[name] ?? (() => requireOfNode(name)))())
  opened.global.latchkeyTests = { library, packages }
  return opened
}

/** The context of this worker, which all its test files share. */
let shared

/** Makes an object as it was: what was added goes, and what was replaced comes back. */
const restore = (object, before) => {
  for (const [key, now] of Reflect.ownKeys(object).map((each) => [
    each,
    Object.getOwnPropertyDescriptor(object, each),
  ])) {
    const { [key]: known } = before
    if (known === undefined) Reflect.deleteProperty(object, key)
    else if (known.get === undefined && known.value !== now.value) Reflect.defineProperty(object, key, known)
  }
  for (const key of Reflect.ownKeys(before)) {
    if (!Object.hasOwn(object, key)) Reflect.defineProperty(object, key, before[key])
  }
}

/**
 * Where test files run. All files of a worker share one global, and in it the library and the packages of `paths.cjs`,
 * loaded once; each file has its own test modules. `lib` keeps no state in modules, which test/architecture.test.ts holds.
 */
module.exports = class {
  constructor({ projectConfig }) {
    shared ??= open()
    const { global } = shared
    this.global = global
    this.moduleMocker = new ModuleMocker(global)
    this.fakeTimers = null
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global })
  }

  async setup() {
    this.before = Object.getOwnPropertyDescriptors(this.global)
    this.environmentBefore = Object.getOwnPropertyDescriptors(this.global.process.env)
  }

  async teardown() {
    this.fakeTimersModern.dispose()
    this.moduleMocker.restoreAllMocks()
    restore(this.global.process.env, this.environmentBefore)
    restore(this.global, this.before)
  }

  getVmContext() {
    return shared.context
  }

  exportConditions() {
    return ['node', 'node-addons']
  }
}
