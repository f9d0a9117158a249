import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import supertest from 'supertest'

jest.setTimeout(60_000)

const root = join(__dirname, '..')

let data: string
let child: ChildProcess
let notes: string
let exit: Promise<unknown[]>

/** The example as `npm start` runs it, in a process of its own. */
beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'latchkey-example-'))
  child = spawn(process.execPath, ['--import', 'tsx', 'example-app/start.ts'], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'development', PORT: '0', JOURNAL_PORT: '0', NOTES_DATA: data },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  exit = once(child, 'exit')
  let output = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk
        if (output.includes('Ready:')) resolve()
      })
    }
    child.once('exit', (status) => reject(new Error(`the example ended with ${status}\n${output}`)))
  })
  notes = /Notes +(http:\/\/localhost:\d+)/.exec(output)?.[1] ?? ''
})
afterAll(async () => {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await exit
  rmSync(data, { recursive: true, force: true })
})

const connected = async (): Promise<Socket> => {
  const { port } = new URL(notes)
  const socket = connect({ port: Number(port), host: 'localhost', autoSelectFamily: true })
  await once(socket, 'connect')
  return socket
}

const heard = (socket: Socket): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
  })

test('Notes says that it is healthy', async () => {
  const { status, body } = await supertest(notes).get('/healthz')
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } })
})

test('at SIGTERM it takes no new connection, answers the request that runs, and ends with 0', async () => {
  const form = 'grant_type=client_credentials&client_id=nobody&client_secret=wrong'
  const running = await connected()
  const answer = heard(running)
  const head = [
    'POST /oauth/token HTTP/1.1',
    `Host: ${new URL(notes).host}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
    'Connection: close',
  ]
  // The server is in the midst of it: it has answered another request that was sent after this half.
  running.write(`${head.join('\r\n')}\r\n\r\n${form.slice(0, 20)}`)
  await supertest(notes).get('/healthz').expect(200)

  child.kill('SIGTERM')
  for (let isRefused = false; !isRefused; ) {
    isRefused = await connected().then(
      (socket) => {
        socket.destroy()
        return false
      },
      (error: NodeJS.ErrnoException | AggregateError) =>
        /ECONNREFUSED/.test(JSON.stringify(error) + error.message),
    )
  }
  expect(child.exitCode).toBeNull()
  running.write(form.slice(20))
  // The client does not exist, which only the database can tell.
  expect(await answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*"invalid_client"/)
  expect(await exit).toEqual([0, null])
})
