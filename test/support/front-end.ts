import { join } from 'node:path'
import { transformSync } from '@swc/core'
import { buildSync } from 'esbuild'
import type { RequestHandler, Router } from 'express'
import { filesOf } from './snippets.ts'

const root = join(__dirname, '../..')
const page = 'docs/front-end.md'

/** The page of docs/front-end.md, and its script built with esbuild. */
export const reactFrontEnd = (): RequestHandler[] => {
  const { 'sign-in.mjs': server, 'sign-in.jsx': script } = filesOf(page)
  if (server === undefined || script === undefined) throw new Error(`${page} lacks a file`)
  const { code } = transformSync(server, { jsc: { target: 'es2022' }, module: { type: 'commonjs' } })
  const exported: { signIn?: Router } = {}
  new Function('require', 'exports', code)(require, exported)
  if (exported.signIn === undefined) throw new Error(`${page}: sign-in.mjs exports no signIn`)
  const [built] = buildSync({
    stdin: { contents: script, loader: 'jsx', resolveDir: root },
    bundle: true,
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    write: false,
  }).outputFiles
  return [
    exported.signIn,
    (req, res, next) => (req.path === '/sign-in.js' ? void res.type('js').send(built?.text) : next()),
  ]
}
