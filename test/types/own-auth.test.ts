// Hosts that have declared `req.auth` before they import Latchkey, each compiled as a program of its own.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sampleOf } from '../support/sample.ts'

const root = join(__dirname, '../..')
const run = promisify(execFile)

const app = `
import express from 'express'
import { authRouter } from 'latchkey'
const oauth = authRouter()
const app = express()
app.get('/own/:id', (req, res) => void res.json([own(req), req.params.id]))
app.get('/orders/:id', oauth.requireToken('orders:read'), (req, res) => {
  const [id, subject]: [string, string] = [req.params.id, req.auth.subject]
  res.json([id, subject])
})
const guard = oauth.requireToken('orders:read')
app.use(guard, (req, res) => void res.json(guard.auth(req).subject satisfies string))
`
const declared = (type: string): string =>
  `declare global { namespace Express { interface Request { auth${type} } } }`

const cases: readonly [string, string, string][] = [
  [
    'a session of the host',
    declared('?: { userId: string }'),
    'req.auth?.userId satisfies string | undefined',
  ],
  [
    'a function, as of Clerk',
    declared(': { userId: string } & (() => { orgId: string })'),
    'req.auth().orgId',
  ],
  [
    'claims, as of express-jwt',
    declared('?: Record<string, string>'),
    'req.auth?.sub satisfies string | undefined',
  ],
]

test.each(sampleOf(cases, 1))('a host compiles that declares %s as req.auth', async (_, declaration, own) => {
  const folder = mkdtempSync(join(root, 'test/.artifacts/own-auth-'))
  const extended = { extends: join(root, 'tsconfig.json'), include: [], files: ['host.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(extended))
  const reads = `const own = (req: express.Request) => ${own}`
  writeFileSync(join(folder, 'host.ts'), [app, declaration, reads, ''].join('\n'))
  const compiled = await run(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    folder,
  ]).catch((error: { stdout: string }) => error)
  rmSync(folder, { recursive: true })
  expect(compiled.stdout).toBe('')
})
