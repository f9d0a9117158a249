// The example of docs/access.md runs as it stands there.

import { readFileSync } from 'node:fs'
import type { AuthRouterOptions } from '../../lib/index.ts'
import { authorizeUrl, callback, people, secret, startHost } from '../support/host.ts'
import { RawBrowser, textOf } from '../support/raw-browser.ts'

const [, example = ''] = /```js\n(const access = .*?)```/s.exec(readFileSync('docs/access.md', 'utf8')) ?? []

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
  const page = await open(sales?.email)
  expect([page.status, page.url.pathname]).toEqual([403, '/oauth/access-denied'])
  expect(textOf(page)).toContain('Payroll is for HR. Ask Bo to add you.')
  await host.close()
})
