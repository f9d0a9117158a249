// An assistant that asks for scopes only connects to the MCP server of docs/choices.md with each official SDK. Its user chooses
// two projects, and takes one away again while the assistant is connected.
import { join } from 'node:path'
import { freePort } from '../support/free-ports.ts'
import { type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { type Answer, RawBrowser } from '../support/raw-browser.ts'
import { createUserTable } from '../support/recipe.ts'
import { filesOf } from '../support/snippets.ts'
import { createMcpApp, mcpClients } from './mcp-client.ts'

const config = `import { registration } from 'latchkey/features'
import knex from 'knex'

export const resource = process.env.MCP_URL
const projects = ['p1', 'p2', 'p3'].map((id) => ({ id, name: 'Project ' + id }))
export default {
  issuer: process.env.ISSUER,
  database: knex({ client: 'better-sqlite3', connection: { filename: 'app.sqlite' }, useNullAsDefault: true }),
  users: {
    table: 'users',
    columns: { id: 'id', username: 'email', password: 'password_hash' },
    claims: { name: 'full_name', email: 'email' },
  },
  scopes: { 'tasks:read': 'See tasks', 'tasks:write': { description: 'Change tasks', optional: true } },
  choices: {
    project: {
      name: { one: 'project', other: 'projects' },
      scopes: ['tasks:read', 'tasks:write'],
      list: () => ({ items: projects }),
      find: (_user, { ids }) => projects.filter(({ id }) => ids.includes(id)),
    },
  },
  resources: { [resource]: { name: 'Tasks', scopes: ['tasks:read', 'tasks:write'] } },
  features: [registration()],
}
`

let folder: HostFolder
let mcp: string
let origin: string
beforeAll(async () => {
  const port = await freePort()
  origin = `http://localhost:${port}`
  mcp = `${origin}/mcp`
  folder = openHostFolder({
    'latchkey.config.mjs': config,
    'mcp.mjs': filesOf('docs/choices.md')['mcp.mjs'] ?? '',
  })
  await createUserTable(join(folder.path, 'app.sqlite'))
  await folder.start('mcp.mjs', { PORT: String(port), MCP_URL: mcp, ISSUER: `${origin}/oauth` })
})
afterAll(() => folder?.remove())
// The clients announce what they retry.
beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation(() => {}))

const these = (...ids: readonly string[]) => ({
  'choice:project': 'these',
  ...Object.fromEntries(ids.map((id) => [`thing:project:${id}`, 'on'])),
})

/** A browser whose user chooses two projects and allows changes, once. */
class Chooser extends RawBrowser {
  /** The requests with a page. */
  readonly pages: string[] = []

  override async grant(location: string): Promise<Answer> {
    let answer = await this.open(location)
    if (answer.url.pathname.endsWith('/login')) answer = await this.signIn(answer)
    if (!answer.url.pathname.endsWith('/consent')) return answer
    this.pages.push(location)
    if (this.pages.length > 1) return this.decide(answer, 'deny')
    return this.decide(answer, 'allow', { ...these('p1', 'p2'), preset: 'choose', 'scope:tasks:write': 'on' })
  }
}

/** A call as the assistant sends it, with what came back. */
const call = (token: string | undefined, name: string, project: string): Promise<Response> =>
  fetch(mcp, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { project } },
    }),
  })

test.each(Object.keys(mcpClients) as (keyof typeof mcpClients)[])(
  '%s gets a token for the chosen projects, and notices when its user takes one away',
  async (client) => {
    const browser = new Chooser(origin, origin)
    const { kept, use, tools } = createMcpApp({ mcp, client, browser })
    expect((await use('list_projects')).said).toBe('["p1","p2"]')
    expect(browser.pages).toHaveLength(1)
    expect(browser.pages[0]).not.toContain('authorization_details')
    expect(await tools()).toEqual(['list_projects', 'list_tasks', 'add_task'])
    expect((await use('add_task', { project: 'p2' })).said).toBe('added to p2')
    const never = await call(kept.tokens?.access_token, 'list_tasks', 'p3')
    expect([never.status, never.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringContaining('choice="project"'),
    ])

    const account = await browser.open('/oauth/account')
    const [, change = ''] = /href="([^"]*account\/access[^"]*)"/.exec(account.html) ?? []
    const page = await browser.open(change.replaceAll('&amp;', '&'))
    // Neither p2 nor changes are ticked any more.
    const html = page.html.replace(/(name="(?:thing:project:p2|scope:tasks:write)"[^>]*?) checked/g, '$1')
    await browser.submit({ ...page, html }, 'value="narrow"')

    const gone = await call(kept.tokens?.access_token, 'list_tasks', 'p2')
    expect([gone.status, gone.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringMatching(/error="insufficient_scope".*choice="project"/),
    ])
    expect(await tools()).toEqual(['list_projects', 'list_tasks'])
    expect(await use('list_projects')).toEqual({ said: '["p1"]', asked: [] })
    expect((await use('list_tasks', { project: 'p1' })).said).toBe('tasks of p1')
    // The client asks once more. That gives nothing more without a page on which the user allows it.
    await expect(use('list_tasks', { project: 'p2' })).rejects.toThrow()
  },
)
