import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import fc from 'fast-check'
import { OAuthError } from '../../lib/protocol/errors.ts'
import { readForm } from '../../lib/web/http/form.ts'

const limit = 1000

/** What happened to each request, in order. */
const outcomes: (string | { status: number; message: string })[] = []

const tellOutcome: ErrorRequestHandler = (error, _req, res, _next) => {
  const { status, message } =
    error instanceof OAuthError ? error : { status: 500, message: `${(error as Error).stack}` }
  outcomes.push({ status, message })
  res.status(status).end(message)
}

const serverWith = async (...before: RequestHandler[]): Promise<Server> => {
  const app = express()
  app.use(...before, (req, res, next) => {
    readForm(req, limit).then(() => {
      outcomes.push('read')
      res.end(req.body)
    }, next)
  })
  app.use(tellOutcome)
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

let server: Server
let encoding: Server
beforeAll(async () => {
  server = await serverWith((_req, _res, next) => next())
  encoding = await serverWith((req, _res, next) => {
    req.setEncoding('utf8')
    next()
  })
})
beforeEach(() => {
  outcomes.length = 0
})
afterAll(() => {
  for (const each of [server, encoding]) each.close().closeAllConnections()
})

const connected = async (to: Server): Promise<Socket> => {
  const socket = connect((to.address() as AddressInfo).port, '127.0.0.1')
  socket.setNoDelay()
  await once(socket, 'connect')
  return socket
}

const formType = 'application/x-www-form-urlencoded'
const head = (...headers: string[]): string =>
  ['POST / HTTP/1.1', 'Host: a', `Content-Type: ${formType}`, ...headers, '', ''].join('\r\n')

/** One answer from the socket, read to the end that its Content-Length names. */
const answer = async (socket: Socket): Promise<{ status: number; body: string }> => {
  let received = Buffer.alloc(0)
  for (;;) {
    const text = received.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
    if (end !== -1 && received.length >= end + 4 + length) {
      const body = received.subarray(end + 4, end + 4 + length).toString('utf8')
      return { status: Number(text.split(' ')[1]), body }
    }
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    received = Buffer.concat([received, chunk])
  }
}

const sent = async (to: Server, ...parts: (string | Buffer)[]): Promise<{ status: number; body: string }> => {
  const socket = await connected(to)
  const answered = answer(socket)
  for (const part of parts) socket.write(part)
  const found = await answered
  socket.destroy()
  return found
}

const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

describe('the body of a form', () => {
  test('is the same however it is cut, even within a character', async () => {
    const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(texts, cuts, async (text, at) => {
        const bytes = Buffer.from(text)
        const inside = at.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b)
        const places = [0, ...inside, bytes.length]
        const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place))
        const chunks = pieces.filter((piece) => piece.length > 0).map(chunk)
        const found = await sent(server, head('Transfer-Encoding: chunked'), ...chunks, '0\r\n\r\n')
        expect(found).toEqual({ status: 200, body: text })
      }),
      { numRuns: 60 },
    )
  })

  test('of a host that set an encoding is the same', async () => {
    expect(await sent(encoding, head('Content-Length: 6'), 'a=é&b')).toEqual({ status: 200, body: 'a=é&b' })
  })

  test.each([
    ['told beforehand', (size: number) => [head(`Content-Length: ${size}`), 'x'.repeat(size)]],
    [
      'found out on the way',
      (size: number) => {
        const chunks = [Buffer.alloc(size - 1, 'x'), Buffer.from('x')].map(chunk)
        return [head('Transfer-Encoding: chunked'), ...chunks, '0\r\n\r\n']
      },
    ],
  ])('may be as large as the limit and no larger: %s', async (_, partsOf) => {
    expect(await sent(server, ...partsOf(limit))).toEqual({ status: 200, body: 'x'.repeat(limit) })
    const refusal = { status: 413, body: 'the request body is too large' }
    expect(await sent(server, ...partsOf(limit + 1))).toEqual(refusal)
  })

  test('that is too large is refused before it is complete, and the connection stays usable', async () => {
    const socket = await connected(server)
    const refused = answer(socket)
    socket.write(`${head('Content-Length: 100000')}${'x'.repeat(10)}`)
    expect((await refused).status).toBe(413)
    const served = answer(socket)
    socket.write(`${'x'.repeat(99_990)}${head('Content-Length: 3')}a=1`)
    expect(await served).toEqual({ status: 200, body: 'a=1' })
    socket.destroy()
  })

  test('of a client that hangs up is a bad request, not a server error', async () => {
    const socket = await connected(server)
    socket.write(`${head('Content-Length: 100')}half`)
    socket.end()
    while (outcomes.length === 0) await wait(5)
    socket.destroy()
    expect(outcomes).toEqual([{ status: 400, message: 'the request body cannot be read' }])
  })

  test.each([
    ['gzip', 415],
    ['BR', 415],
    ['Identity', 200],
  ])('with the coding %s is %i', async (coding, status) => {
    const headers = head(`Content-Encoding: ${coding}`, 'Content-Length: 3')
    expect((await sent(server, headers, 'a=1')).status).toBe(status)
  })
})
