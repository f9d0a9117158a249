import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { resolveOptions } from '../../lib/options/resolve.ts'
import { createOutbound, OutboundError } from '../../lib/outbound/outbound.ts'
import { isPublicAddress } from '../../lib/outbound/public-address.ts'
import type { ResolveName } from '../../lib/outbound/resolve-name.ts'
import { createTurns } from '../../lib/outbound/turns.ts'
import { certificate } from '../support/certificate.ts'

const servers: Server[] = []
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections()
      return new Promise((closed) => server.close(closed))
    }),
  )
})

const listening = async (server: Server): Promise<number> => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A server on this machine, its origin, and what it was asked. */
const serve = async (answer: RequestListener) => {
  const requests: IncomingMessage[] = []
  const port = await listening(
    createServer((req, res) => {
      requests.push(req)
      answer(req, res)
    }),
  )
  return { origin: `http://127.0.0.1:${port}`, port, requests }
}

const bodyOf = async (req: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of req) body += chunk
  return body
}

/** A resolver that knows what it is told and counts how often it is asked. */
const resolver = (...answers: string[][]) => {
  const asked: string[] = []
  const resolve: ResolveName = async (hostname) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(hostname)
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return { resolve, asked }
}

const failure = async (answer: Promise<unknown>): Promise<OutboundError> => {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(OutboundError)
  return error as OutboundError
}

const allowing = (...allow: string[]) => createOutbound({ allow })
const anywhere = allowing()

// How addresses can be spelt is in test/attacks/properties.test.ts.
test('an address is public unless it is reserved or an IPv6 address with an IPv4 address inside', () => {
  const isPublic = [
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.1',
    '192.88.98.1',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.1',
    '203.0.112.1',
    '203.0.114.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450:4001::200e',
  ]
  const isNot = [
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.170',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fd12:3456::1',
    'fec0::1',
    'fe80::1',
    'fe80::1%eth0',
    '2606:4700::1111%eth0',
    '2001:db8::1',
    '3fff::1',
    '100::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '2001::1',
    '2002:7f00:1::1',
    'localhost',
    '',
  ]
  expect([...isPublic, ...isNot].filter(isPublicAddress)).toEqual(isPublic)
})

describe('refused before anything is sent', () => {
  test.each([
    ['http://client.example.com/keys', 'only https'],
    ['file:///etc/passwd', 'only https'],
    ['keys', 'not a URL'],
    ['https://user:pass@client.example.com/keys', 'credentials'],
    ['https://127.1/keys', 'not public'],
    ['https://[::ffff:10.0.0.1]/keys', 'not public'],
    ['https://169.254.169.254/latest/meta-data', 'not public'],
    ['https://localhost/keys', 'not public'],
  ])('%s', async (url, reason) => {
    const error = await failure(anywhere.request(url))
    expect(error.message).toContain(reason)
    expect(error.message).not.toMatch(/pass|keys:|meta-data/)
    expect(error.refused).toBe(true)
  })

  test('a name with a private address, alone or among public ones, or with no address', async () => {
    const message = 'https://client.test: the address is not public'
    for (const addresses of [['10.0.0.1'], ['8.8.8.8', '::1'], []]) {
      const outbound = createOutbound({ allow: [], resolve: resolver(addresses).resolve })
      const error = await failure(outbound.request('https://client.test/keys'))
      expect(error).toMatchObject({ refused: true, message })
    }
  })

  test('what another origin is allowed', async () => {
    const { origin, port, requests } = await serve((_req, res) => res.end())
    const outbound = allowing(origin)
    await failure(outbound.request(`https://127.0.0.1:${port}/`))
    await failure(outbound.request(`http://127.0.0.1:${port + 1}/`))
    await failure(outbound.request(`http://localhost:${port}/`))
    expect(requests).toEqual([])
    await expect(outbound.request(`${origin}/`)).resolves.toMatchObject({ status: 200 })
  })
})

describe('the connection', () => {
  test('goes to the address that was resolved, once, under the name that was asked', async () => {
    const { port, requests } = await serve((_req, res) => res.end('{}'))
    // A second DNS query would return an address where no server listens.
    const { resolve, asked } = resolver(['127.0.0.1'], ['127.0.0.2'])
    const outbound = createOutbound({ allow: [`http://client.test:${port}`], resolve })
    await outbound.request(`http://client.test:${port}/keys`)
    expect(asked).toEqual(['client.test'])
    expect(requests.map(({ headers }) => headers.host)).toEqual([`client.test:${port}`])
  })

  test('is not kept for the next request, whose address must be checked again', async () => {
    const { port } = await serve((_req, res) => res.end('{}'))
    const { resolve, asked } = resolver(['127.0.0.1'])
    const outbound = createOutbound({ allow: [`http://client.test:${port}`], resolve })
    await outbound.request(`http://client.test:${port}/keys`)
    await outbound.request(`http://client.test:${port}/keys`)
    expect(asked).toEqual(['client.test', 'client.test'])
  })

  test('sends the name by TLS and refuses a self-signed certificate', async () => {
    const names: string[] = []
    let answered = false
    const server = createTlsServer(
      { ...certificate, SNICallback: (name, done) => done(null, void names.push(name)) },
      () => {
        answered = true
      },
    )
    const port = await listening(server)
    const { resolve } = resolver(['127.0.0.1'])
    const outbound = createOutbound({ allow: [`https://client.test:${port}`], resolve })
    const error = await failure(outbound.request(`https://client.test:${port}/keys`))
    expect(names).toEqual(['client.test'])
    expect(error.refused).toBe(false)
    expect(error.cause).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    expect(answered).toBe(false)
  })

  test('to a closed port is an error', async () => {
    const { origin } = await serve(() => {})
    await Promise.all(servers.splice(0).map((server) => new Promise((closed) => server.close(closed))))
    const error = await failure(allowing(origin).request(origin))
    expect(error).toMatchObject({ refused: false, message: `${origin}: no response` })
  })
})

describe('the request', () => {
  test('GET has only the headers that it needs', async () => {
    const { origin, requests } = await serve((_req, res) => res.end('{}'))
    await allowing(origin).request(`${origin}/keys?a=b#c`, { accept: 'application/jwk-set+json' })
    const [request] = requests
    expect(request).toMatchObject({ method: 'GET', url: '/keys?a=b' })
    const names = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent']
    expect(Object.keys(request?.headers ?? {}).sort()).toEqual(names)
    expect(request?.headers.accept).toBe('application/jwk-set+json')
  })

  test('a form goes by POST, encoded', async () => {
    const received: string[] = []
    const { origin, requests } = await serve(async (req, res) => {
      received.push(await bodyOf(req))
      res.writeHead(204).end()
    })
    const { status, body } = await allowing(origin).request(origin, {
      form: { logout_token: 'a+b &c', é: '1' },
    })
    expect({ status, body }).toEqual({ status: 204, body: '' })
    expect(requests[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(received).toEqual(['logout_token=a%2Bb+%26c&%C3%A9=1'])
  })
})

describe('the answer', () => {
  test('has status, headers and text', async () => {
    const { origin } = await serve((_req, res) => {
      res.writeHead(400, { 'Cache-Control': 'no-store' }).end('{"error":"é"}')
    })
    const { status, headers, body } = await allowing(origin).request(origin)
    expect({ status, body }).toEqual({ status: 400, body: '{"error":"é"}' })
    expect(headers['cache-control']).toBe('no-store')
    expect(headers.location).toBeUndefined()
  })

  test.each([301, 302, 303, 307, 308])('%i is a status and is not followed', async (code) => {
    const { origin, requests } = await serve((_req, res) => res.writeHead(code, { Location: '/other' }).end())
    const { status, headers } = await allowing(origin).request(`${origin}/keys`)
    expect({ status, location: headers.location }).toEqual({ status: code, location: '/other' })
    expect(requests).toHaveLength(1)
  })

  test('may have 64 kB and not one byte more', async () => {
    const { origin } = await serve((req, res) => res.end('x'.repeat(Number(req.url?.slice(1)))))
    const { body } = await allowing(origin).request(`${origin}/65536`)
    expect(body).toHaveLength(65_536)
    const error = await failure(allowing(origin).request(`${origin}/65537`))
    expect(error.message).toBe(`${origin}: the response is larger than 64 kB`)
  })

  test('that never ends is cut off at 64 kB', async () => {
    const { origin } = await serve((_req, res) => {
      const more = () => {
        while (!res.destroyed && res.write('x'.repeat(16_384)));
      }
      res.on('drain', more)
      more()
    })
    const error = await failure(allowing(origin).request(origin))
    expect(error.message).toContain('larger than 64 kB')
  })

  test('in another encoding is refused, so that nothing is inflated, and its name is not repeated', async () => {
    const { origin } = await serve((_req, res) =>
      res.writeHead(200, { 'Content-Encoding': 'gzip\x9b31m' }).end('x'),
    )
    expect((await failure(allowing(origin).request(origin))).message).toBe(
      `${origin}: the response is compressed`,
    )
  })

  test('that breaks off is none', async () => {
    const { origin } = await serve((_req, res) => {
      res.writeHead(200, { 'Content-Length': '10' })
      res.write('12345', () => res.destroy())
    })
    expect((await failure(allowing(origin).request(origin))).message).toBe(`${origin}: no response`)
  })

  test('is not awaited for ever: from a silent server or resolver, or with an endless body', async () => {
    for (const answer of [() => {}, (_req: IncomingMessage, res: ServerResponse) => void res.write('{')]) {
      const { origin } = await serve(answer)
      const error = await failure(createOutbound({ allow: [origin], timeout: 50 }).request(origin))
      expect(error).toMatchObject({ refused: false, message: `${origin}: timeout` })
    }
    const outbound = createOutbound({ allow: [], resolve: () => new Promise(() => {}), timeout: 50 })
    const error = await failure(outbound.request('https://client.test/'))
    expect(error.message).toBe('https://client.test: timeout')
  })

  test('is none after a change of protocol, and the next request is sent again (H2)', async () => {
    let asked = 0
    const raw = createSocketServer((socket) => {
      asked += 1
      socket.on('error', () => {}).resume()
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    })
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`
    const outbound = allowing(origin)
    for (let time = 0; time < 2; time += 1) {
      const error = await failure(outbound.request(origin))
      expect(error).toMatchObject({ refused: false, message: `${origin}: no response` })
    }
    expect(asked).toBe(2)
    await new Promise((closed) => raw.close(closed))
  })

  test('is awaited for 5 seconds at most', async () => {
    const timeout = jest.spyOn(AbortSignal, 'timeout')
    const { origin } = await serve((_req, res) => res.end())
    await allowing(origin).request(origin)
    expect(timeout.mock.calls).toEqual([[5000]])
    timeout.mockRestore()
  })
})

describe('coalescing', () => {
  test('equal GETs at the same time are one; later ones, other ones and POSTs are not', async () => {
    const waiting: ServerResponse[] = []
    const { origin, requests } = await serve((_req, res) => {
      waiting.push(res)
      if (waiting.length === 4) for (const response of waiting) response.end('{}')
      if (waiting.length > 4) res.end('{}')
    })
    const outbound = allowing(origin)
    const answers = await Promise.all([
      outbound.request(`${origin}/keys`),
      outbound.request(`${origin}/keys`),
      outbound.request(`${origin}/other`),
      outbound.request(`${origin}/keys`, { form: { a: '1' } }),
      outbound.request(`${origin}/keys`, { form: { a: '1' } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(requests.map(({ method, url }) => `${method} ${url}`).sort()).toEqual(
      ['GET /keys', 'GET /other', 'POST /keys', 'POST /keys'].sort(),
    )
    await outbound.request(`${origin}/keys`)
    expect(requests).toHaveLength(5)
  })

  test('a failure is shared and not remembered', async () => {
    let broken = true
    const { origin } = await serve((req, res) => (broken ? req.socket.destroy() : res.end('{}')))
    const outbound = allowing(origin)
    await Promise.all([failure(outbound.request(origin)), failure(outbound.request(origin))])
    broken = false
    await expect(outbound.request(origin)).resolves.toMatchObject({ status: 200 })
  })
})

describe('at one time', () => {
  /** Requests that are held until the test lets them go. */
  const hold = () => {
    const held: { hostname: string; release(): void }[] = []
    const resolve: ResolveName = (hostname) =>
      new Promise((found) => {
        held.push({ hostname, release: () => found([{ address: '10.0.0.1', family: 4 }]) })
      })
    return { held, resolve }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test('only so many requests run for one host, and for all hosts; the others wait for their turn', async () => {
    const { held, resolve } = hold()
    const outbound = createOutbound({ allow: [], resolve, atOnce: { all: 3, perHost: 2, perCause: 9 } })
    const urls = ['a', 'a', 'a', 'b', 'b'].map((host, index) => `https://${host}.test/${index}`)
    const answers = urls.map((url) => failure(outbound.request(url)))
    await turn()
    const names = () => held.map(({ hostname }) => hostname)
    expect(names()).toEqual(['a.test', 'a.test', 'b.test'])
    held[2]?.release()
    await answers[3]
    await turn()
    expect(names()).toEqual(['a.test', 'a.test', 'b.test', 'b.test'])
    for (let next = 0; next < urls.length; next += 1) {
      held[next]?.release()
      await turn()
    }
    await Promise.all(answers)
    expect(names()).toEqual(['a.test', 'a.test', 'b.test', 'b.test', 'a.test'])
  })

  test('counting a request has no more time than the request (H3)', async () => {
    const end = new AbortController()
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(end.signal)
    const outbound = createOutbound({ allow: [], count: () => new Promise(() => {}) })
    const answer = failure(outbound.request('https://client.test/'))
    end.abort()
    expect((await answer).message).toContain('too many requests')
    timeout.mockRestore()
  })

  test('a turn that comes at the moment when its request ends goes to the next (H3)', async () => {
    const takeTurn = createTurns({ all: 1, perHost: 1, perCause: 1 })
    const never = new AbortController().signal
    const end = new AbortController()
    let finish = (): void => {}
    const whose = { host: 'a', cause: 'a' }
    const first = takeTurn(whose, never, () => new Promise<void>((done) => (finish = done)))
    const second = takeTurn(whose, end.signal, async () => 'second').catch(() => 'ended')
    const third = takeTurn(whose, never, async () => 'third')
    end.abort()
    finish()
    expect(await Promise.all([first, second, third])).toEqual([undefined, 'ended', 'third'])
  })

  test('a request whose turn does not come ends, takes no turn of another, and waits on its own time (H3)', async () => {
    const ends: AbortController[] = []
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const end = new AbortController()
      ends.push(end)
      return end.signal
    })
    const { held, resolve } = hold()
    const outbound = createOutbound({ allow: [], resolve, atOnce: { all: 1, perHost: 1, perCause: 1 } })
    const ask = (host: string) => failure(outbound.request(`https://${host}.test/`))
    const [first, second, third] = [ask('first'), ask('second'), ask('third')]
    await turn()
    const [, secondWaits, thirdWaits, firstRuns] = ends
    secondWaits?.abort()
    expect((await second).message).toContain('https://second.test: too many requests')
    // It never ends by itself, and makes room all the same.
    firstRuns?.abort()
    expect((await first).message).toBe('https://first.test: timeout')
    await turn()
    expect(held.map(({ hostname }) => hostname)).toEqual(['first.test', 'third.test'])
    // The time until its turn is over, and no longer counts.
    thirdWaits?.abort()
    held[1]?.release()
    expect((await third).message).toBe('https://third.test: the address is not public')
    timeout.mockRestore()
  })

  test('who causes many requests has a share of the turns, and then waits behind everyone else', async () => {
    const takeTurn = createTurns({ all: 3, perHost: 9, perCause: 2 })
    const never = new AbortController().signal
    const begun: string[] = []
    const ends: (() => void)[] = []
    const ask = (cause: string, host: string) =>
      takeTurn({ cause, host }, never, () => {
        begun.push(host)
        return new Promise<void>((end) => ends.push(end))
      })
    const many = ['a1', 'a2', 'a3', 'a4'].map((host) => ask('a', host))
    const others = ['b1', 'c1'].map((host) => ask(host, host))
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    ends[0]?.()
    await turn()
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1'])
    for (let next = 1; next < 6; next += 1) {
      ends[next]?.()
      await turn()
    }
    await Promise.all([...many, ...others])
  })

  test('an end makes room for one that waited for the host, and for one that waited for the cause', async () => {
    const takeTurn = createTurns({ all: 9, perHost: 1, perCause: 1 })
    const never = new AbortController().signal
    const begun: string[] = []
    const ends: (() => void)[] = []
    const ask = (cause: string, host: string) =>
      takeTurn({ cause, host }, never, () => {
        begun.push(`${cause} at ${host}`)
        return new Promise<void>((end) => ends.push(end))
      })
    const all = [ask('one', 'a'), ask('two', 'a'), ask('one', 'b')]
    expect(begun).toEqual(['one at a'])
    ends[0]?.()
    await turn()
    expect(begun).toEqual(['one at a', 'two at a', 'one at b'])
    for (const end of ends) end()
    await Promise.all(all)
  })
})

test('the options outbound.allow and outbound.allowSelfDescribed are lists of origins', () => {
  const secrets = ['a secret of the tests that is long enough']
  const allowOf = (...allow: string[]) =>
    resolveOptions({ database: { client: 'better-sqlite3' }, secrets, outbound: { allow } }).outbound.allow
  expect(allowOf()).toEqual([])
  const strangers = { outbound: { allowSelfDescribed: ['http://127.0.0.1:4001'] } }
  const database = { client: 'better-sqlite3' }
  expect(resolveOptions({ database, secrets, ...strangers }).outbound).toEqual({
    allow: [],
    allowSelfDescribed: ['http://127.0.0.1:4001'],
  })
  expect(allowOf('http://127.0.0.1:4001')).toEqual(['http://127.0.0.1:4001'])
  const withPath = ['http://127.0.0.1:4001/', 'http://127.0.0.1:4001/keys']
  for (const origin of [...withPath, '127.0.0.1', 'https://a.example:443', '*', 'null'])
    expect(() => allowOf(origin)).toThrow(/outbound.allow\[\d\] must be an origin/)
})
