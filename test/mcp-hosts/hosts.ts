// How each host is started, as its users start it: the login, and a prompt that makes it call a tool.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, Machine, Seen } from './lab.ts'
import type { Step } from './table.ts'

const modules = join(__dirname, 'node_modules')
/** Development dependencies of this project are there without a further installation. */
const ownModules = join(__dirname, '../../node_modules')

/** A host as npm has it, unmodified. */
export interface McpHost {
  readonly name: string
  /** The package whose version is in the table. */
  readonly package: string
  /** Whether the sample of `npm test` runs it: it needs no installation of its own. */
  readonly sample?: true
  /** The client's own fault at a step that it does not pass. */
  readonly faults?: Partial<Record<Step, string>>
  /** Writes the configuration of its user. */
  setUp?(machine: Machine): void
  /** Commands before the first call; none if the first call logs in. */
  login?(machine: Machine): readonly Command[]
  /** Calls a tool once. */
  call(machine: Machine, tool: string): Command
}

const write = (machine: Machine, path: string, content: unknown): void => {
  const file = join(machine.home, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

const prompt = (tool: string): string => `Please call the tool ${tool}.`

/** The tool was called, with whatever result that was allowed. */
export const isCalled = (seen: readonly Seen[], tool: string): boolean =>
  seen.some(
    ({ path, body, status }) =>
      path === '/mcp' &&
      body.method === 'tools/call' &&
      (body.params as { name?: string } | undefined)?.name === tool &&
      status === 200,
  )

const modulePath = (path: string): string => join(modules, path)

/** A program of this folder that uses a library for apps. */
const library = (name: string, packageName: string, program: string, sample?: true): McpHost => ({
  name,
  package: packageName,
  ...(sample && { sample }),
  call: ({ mcp }, tool) => ({
    program: process.execPath,
    args: [join(__dirname, 'programs', program), mcp, tool],
    env: { NODE_PATH: modules },
  }),
})

const mcpRemote = (name: string, folder: string): McpHost => ({
  name,
  package: folder,
  call: ({ mcp }, tool) => ({
    program: process.execPath,
    args: [
      join(__dirname, 'programs/stdio.mjs'),
      tool,
      process.execPath,
      modulePath(`${folder}/dist/proxy.js`),
      mcp,
    ],
  }),
})

const claude = modulePath('@anthropic-ai/claude-code-linux-x64/claude')
const opencode = modulePath('opencode-linux-x64/bin/opencode')

/** What a host does when a tool needs a scope that its token lacks. */
const refreshesInstead = {
  more: 'It refreshes its token instead of asking the user, which adds no scope.',
}
const givesUp = { more: 'It shows the error, and asks for no further scope.' }

export const hosts: readonly McpHost[] = [
  library('MCP SDK 2', '@modelcontextprotocol/client', 'sdk-2.mjs', true),
  { ...library('MCP SDK 1', '@modelcontextprotocol/sdk', 'sdk-1.mjs'), faults: refreshesInstead },
  {
    ...library('AI SDK', '@ai-sdk/mcp', 'ai-sdk.mjs'),
    faults: {
      ...givesUp,
      deleted: 'It hands `invalid_client` to the app, which must forget the registration and connect again.',
    },
  },
  { ...library('LangChain', '@langchain/mcp-adapters', 'langchain.mjs'), faults: refreshesInstead },
  mcpRemote('mcp-remote', 'mcp-remote'),
  { ...mcpRemote('mcp-remote (old)', 'mcp-remote-0.1.49'), faults: refreshesInstead },
  {
    name: 'Inspector',
    package: '@modelcontextprotocol/inspector',
    call: ({ mcp }, tool) => ({
      program: modulePath('.bin/mcp-inspector'),
      args: [
        '--cli',
        '--server-url',
        mcp,
        '--transport',
        'http',
        '--method',
        'tools/call',
        '--tool-name',
        tool,
      ],
      env: { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
    }),
  },
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    setUp: (machine) =>
      write(machine, '.claude.json', {
        hasCompletedOnboarding: true,
        mcpServers: { orders: { type: 'http', url: machine.mcp } },
      }),
    login: (machine) => [
      { program: claude, args: ['mcp', 'login', 'orders'], env: claudeEnv(machine), terminal: true },
    ],
    call: (machine, tool) => ({
      program: claude,
      args: ['-p', prompt(tool), '--allowedTools', 'mcp__orders__list_orders,mcp__orders__cancel_order'],
      env: claudeEnv(machine),
    }),
  },
  {
    name: 'Codex',
    package: '@openai/codex',
    faults: givesUp,
    setUp: (machine) =>
      write(
        machine,
        '.codex/config.toml',
        `model = "lab"
model_provider = "lab"
mcp_oauth_credentials_store = "file"
[model_providers.lab]
name = "lab"
base_url = "${machine.models}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
[mcp_servers.orders]
url = "${machine.mcp}"
default_tools_approval_mode = "approve"
required = true
`,
      ),
    login: () => [{ program: modulePath('.bin/codex'), args: ['mcp', 'login', 'orders'] }],
    call: (_, tool) => ({
      program: modulePath('.bin/codex'),
      args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt(tool)],
      env: { LAB_KEY: 'lab' },
    }),
  },
  {
    name: 'Gemini CLI',
    package: '@google/gemini-cli',
    setUp: (machine) =>
      write(machine, '.gemini/settings.json', {
        security: { auth: { selectedType: 'gemini-api-key' } },
        mcpServers: { orders: { httpUrl: machine.mcp, trust: true, oauth: { enabled: true } } },
      }),
    call: (machine, tool) => ({
      program: modulePath('.bin/gemini'),
      args: ['-p', prompt(tool), '--yolo', '--skip-trust', '-m', 'gemini-2.5-flash'],
      env: { GEMINI_API_KEY: 'lab', GOOGLE_GEMINI_BASE_URL: machine.models },
      // It asks whether it may open the browser.
      terminal: true,
      input: 'y\n',
    }),
  },
  {
    name: 'opencode',
    // The package `opencode-ai` only chooses among those of each platform.
    package: 'opencode-linux-x64',
    faults: refreshesInstead,
    setUp: (machine) =>
      write(machine, '.config/opencode/opencode.json', {
        autoupdate: false,
        model: 'lab/lab',
        mcp: { orders: { type: 'remote', url: machine.mcp, enabled: true } },
        provider: {
          lab: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${machine.models}/v1`, apiKey: 'lab' },
            models: { lab: { name: 'lab' } },
          },
        },
      }),
    login: () => [{ program: opencode, args: ['mcp', 'auth', 'orders'], terminal: true }],
    call: (_, tool) => ({ program: opencode, args: ['run', '--auto', prompt(tool)] }),
  },
  {
    name: 'Copilot CLI',
    package: '@github/copilot',
    faults: {
      login:
        'Its metadata document of September 2026 lists `http://127.0.0.1:33418/`, and it sends `http://127.0.0.1:PORT/callback`.',
    },
    setUp: (machine) =>
      write(machine, '.copilot/mcp-config.json', {
        mcpServers: { orders: { type: 'http', url: machine.mcp, tools: ['*'] } },
      }),
    // With `-p` it never opens a browser.
    login: (machine) => [
      {
        ...copilot(machine, '-i', prompt('list_orders')),
        terminal: true,
        until: (seen) => seen.some(({ body, status }) => body.method === 'tools/list' && status === 200),
      },
    ],
    call: (machine, tool) => copilot(machine, '-p', prompt(tool)),
  },
]

function copilot(machine: Machine, ...args: string[]): Command {
  return {
    program: modulePath('.bin/copilot'),
    args: [...args, '--allow-all-tools', '--allow-all-paths'],
    env: {
      COPILOT_ALLOW_ALL: 'true',
      COPILOT_PROVIDER_BASE_URL: `${machine.models}/v1`,
      COPILOT_PROVIDER_API_KEY: 'lab',
      COPILOT_MODEL: 'lab',
      COPILOT_OFFLINE: 'true',
    },
  }
}

function claudeEnv(machine: Machine): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: machine.models,
    ANTHROPIC_API_KEY: 'lab',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    ENABLE_TOOL_SEARCH: 'false',
  }
}

/** The folder of the package of a host, if it is installed. */
export const folderOf = ({ package: name }: McpHost): string | undefined =>
  [join(modules, name), join(ownModules, name)].find((folder) => existsSync(folder))
