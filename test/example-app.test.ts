import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import supertest from 'supertest'
import { type RunningExample, startExampleApp } from './support/client-server-example-app.ts'

jest.setTimeout(60_000)

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
