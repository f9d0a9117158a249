import { realpathSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Example, startExample } from './example.ts'

export { type Example, type ExampleOptions, startExample } from './example.ts'

const usage = `npm start -- [--theme] [--reset]

  --theme    show the pages in another look: example-app/theme
  --reset    delete users, notes, clients, consents and keys first

  PORT (3000), JOURNAL_PORT (3001): the first ports to try
  NOTES_DATA (example-app/data):    the data folder`

/** Removes the files that the example wrote, and no others. */
const reset = (data: string): void => {
  const names = ['notes.sqlite', 'notes.sqlite-wal', 'notes.sqlite-shm', 'secrets', 'running.json']
  for (const name of names) rmSync(join(data, name), { recursive: true, force: true })
}

const describe = ({ notesUrl, clientUrl, mcpUrl, credentials }: Example): string => `
  Journal  ${clientUrl}  a separate client: open this first
  TV       ${clientUrl}/tv  Journal on a television, without a keyboard
  Notes    ${notesUrl}  the existing app, with Latchkey at ${notesUrl}/oauth
  MCP      ${mcpUrl}  the notes for assistants; connect one, for example with
           claude mcp add --transport http notes ${mcpUrl}

  Sign in as
${credentials.map(({ email, password }) => `    ${email}   ${password}`).join('\n')}

  Ready: ${clientUrl} (Ctrl-C stops it)
`

const readArguments = (): { theme?: boolean; reset?: boolean; help?: boolean } => {
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({ options: { theme: flag, reset: flag, help: { ...flag, short: 'h' } } }).values
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    return process.exit(2)
  }
}

/** Calls `stop` on a signal. npm sends signals to its shell only, so the end of that shell counts as well. */
const onStop = (stop: () => void): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
  const parent = process.ppid
  if (process.env.npm_lifecycle_event === 'start') {
    setInterval(() => process.ppid !== parent && stop(), 500).unref()
  }
}

const main = async (): Promise<void> => {
  const { theme, reset: isReset, help } = readArguments()
  if (help) return console.log(usage)
  const data = resolve(process.env.NOTES_DATA ?? join(import.meta.dirname, 'data'))
  if (isReset) reset(data)
  const example = await startExample({
    data,
    theme,
    notesPort: Number(process.env.PORT ?? 3000),
    clientPort: Number(process.env.JOURNAL_PORT ?? 3001),
  })
  let isStopping = false
  onStop(() => {
    if (isStopping) return
    isStopping = true
    example.close().then(() => process.exit(0), fail)
  })
  console.log(describe(example))
}

const fail = (error: unknown): never => {
  console.error(error)
  return process.exit(1)
}

// Tests import this file only for startExample.
const isRunDirectly = process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
if (isRunDirectly) main().catch(fail)
