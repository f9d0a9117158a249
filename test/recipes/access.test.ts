// The examples of docs/access.md run as they stand there.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, callback, people, secret, startHost } from '../support/host.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'

const page = readFileSync('docs/access.md', 'utf8')
const [, example = ''] = /```js\n(const access = .*?)```/s.exec(page) ?? []

const [, authzen = ''] = /```js\n\/\/ authzen\.mjs\n(.*?)```/s.exec(page) ?? []

test('a policy server decides by AuthZEN: it is asked about user, step and client, and its answer counts', async () => {
  const access: AuthRouterOptions['access'] = new Function(
    `${authzen.replace('export const access', 'const access')}; return access`,
  )()
  const asked: unknown[] = []
  const decisions: unknown[] = [true, false, undefined]
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    asked.push({ path: req.url, ...JSON.parse(Buffer.concat(chunks).toString()) })
    const decision = decisions.shift()
    res.writeHead(decision === undefined ? 500 : 200).end(JSON.stringify({ decision }))
  })
  await new Promise<void>((listening) => server.listen(0, listening))
  process.env.PDP_URL = `http://localhost:${(server.address() as AddressInfo).port}`
  const decide = () =>
    access?.allow({ id: 7 }, {
      client: { client_id: 'payroll' },
      scopes: ['openid'],
      step: 'authorize',
    } as never)
  expect(await decide()).toBe(true)
  expect(asked).toEqual([
    {
      path: '/access/v1/evaluation',
      subject: { type: 'user', id: '7' },
      action: { name: 'authorize' },
      resource: { type: 'client', id: 'payroll', properties: { scopes: ['openid'] } },
      context: {},
    },
  ])
  expect(await decide()).toEqual({ deny: expect.any(String) })
  await expect(decide()).rejects.toMatchObject({ status: 503 })
  await new Promise((closed) => server.close(closed))
})

test('who is not in HR may not use payroll, and reads why; who is may', async () => {
  const access: AuthRouterOptions['access'] = new Function(`${example}; return access`)()
  const roles = new Map([
    ['1', 'hr'],
    ['2', 'sales'],
  ])
  const find = (id: string) => (roles.has(id) ? { id, role: roles.get(id) } : undefined)
  const host = await startHost({
    clients: [{ client_id: 'payroll', client_secret: secret, redirect_uris: [callback], scope: 'openid' }],
    options: {
      access,
      acrValues: ['mfa'],
      users: {
        find,
        authenticate: ({ username }) => find(String(people.find(({ email }) => email === username)?.id)),
      },
    },
  })
  const [hr, sales] = people
  const open = (email = '') =>
    new RawBrowser(host.app).grant(authorizeUrl({ client_id: 'payroll', scope: 'openid' }), email)
  expect((await open(hr?.email)).location?.searchParams.has('code')).toBe(true)
  const refused = await open(sales?.email)
  expect([refused.status, refused.url.pathname]).toEqual([403, '/oauth/access-denied'])
  expect(textOf(refused)).toContain('Payroll is for HR. Ask Bo to add you.')
  await host.close()
})
