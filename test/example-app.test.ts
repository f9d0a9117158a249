import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import supertest from 'supertest'
import { attack } from '../lib/tools/testing/index.ts'
import { expectFindings } from './support/attacked-host.ts'
import { type RunningExample, startExampleApp } from './support/client-server-example-app.ts'
import { openCommandLine } from './support/command-line.ts'

let example: RunningExample
beforeAll(async () => {
  example = await startExampleApp()
})
afterAll(() => example.close())

const connected = async (): Promise<Socket> => {
  const { port } = new URL(example.notesUrl)
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

test('the health endpoint of Notes answers ok', async () => {
  const { status, body } = await supertest(example.notesUrl).get('/healthz')
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } })
})

test('doctor finds no mistake in it', async () => {
  const cli = openCommandLine()
  const doctor = ['doctor', '--config', 'example-app/latchkey.config.ts']
  const env = { NOTES_DATA: example.data }
  // The configuration loads `latchkey/features`, which is the library of this checkout only with tsx.
  const program = ['--import', 'tsx', 'lib/tools/cli/index.ts']
  const { stdout, stderr } = await cli.succeed(join(__dirname, '..'), doctor, { env, program })
  await cli.close()
  expect(stdout).toBe('')
  expect(stderr).toMatch(/server: http:\/\/localhost:\d+\/oauth\nno mistakes were found\n$/)
  expect(stderr).toMatch(/^database: .*\.sqlite$/m)
})

test('attack() finds nothing in it', async () => {
  const { notesUrl: notes, journalUrl, data } = example
  const report = await attack(notes, {
    issuer: `${notes}/oauth`,
    client: {
      client_id: 'journal',
      client_secret: readFileSync(join(data, 'secrets/journal'), 'utf8'),
      redirect_uri: `${journalUrl}/callback`,
      scope: 'openid email offline_access notes:read',
    },
    user: { username: 'mira@notes.example', password: 'seven green lanterns' },
    api: '/api/notes',
    wrongPasswords: 5,
  })
  expectFindings(report, {})
  expect(report.skipped.map(({ attack: name }) => name)).toEqual([
    'the host’s login page as an open redirector',
    'plain http under an https issuer',
    'codes and tokens used by another client',
  ])
})

test('at SIGTERM it takes no new connection, answers the request that runs, and ends with 0', async () => {
  const form = 'grant_type=client_credentials&client_id=nobody&client_secret=wrong'
  const running = await connected()
  const answer = heard(running)
  const head = [
    'POST /oauth/token HTTP/1.1',
    `Host: ${new URL(example.notesUrl).host}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
    'Connection: close',
  ]
  // The server is in the midst of it: it has answered another request that was sent after this half.
  running.write(`${head.join('\r\n')}\r\n\r\n${form.slice(0, 20)}`)
  await supertest(example.notesUrl).get('/healthz').expect(200)

  example.process.kill('SIGTERM')
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
  expect(example.process.exitCode).toBeNull()
  running.write(form.slice(20))
  // The client does not exist, which only the database can tell.
  expect(await answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*"invalid_client"/)
  expect(await example.ended).toEqual([0, null])
})
