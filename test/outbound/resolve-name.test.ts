import { createSocket, type Socket } from 'node:dgram'
import { promises as dns } from 'node:dns'
import { createOutbound } from '../../lib/outbound/outbound.ts'
import { createDns } from '../../lib/outbound/resolve-name.ts'

const sockets: Socket[] = []
afterEach(async () => {
  jest.restoreAllMocks()
  await Promise.all(sockets.splice(0).map((socket) => new Promise<void>((closed) => socket.close(closed))))
})

type Kind = 'A' | 'AAAA'
const kinds: Readonly<Record<number, Kind>> = { 1: 'A', 28: 'AAAA' }

const bytesOf = (kind: Kind, address: string): Buffer =>
  kind === 'A'
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(
        address
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )

/** The answer to a question (RFC 1035 §4): one address, or none (3: no such name). */
const answerTo = (question: Buffer, kind: Kind, address: string | undefined): Buffer => {
  const header = Buffer.from(question.subarray(0, 12))
  header.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2)
  header.writeUInt16BE(address === undefined ? 0 : 1, 6)
  // Without the additional records that the question may have.
  header.writeUInt16BE(0, 10)
  const end = question.indexOf(0, 12) + 5
  const body = question.subarray(12, end)
  if (address === undefined) return Buffer.concat([header, body])
  const data = bytesOf(kind, address)
  const record = Buffer.from([0xc0, 12, 0, kind === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, data.length])
  return Buffer.concat([header, body, record, data])
}

/** A name server that knows these addresses, or never answers. */
const nameServer = async (known: Partial<Record<Kind, string>> | 'silent') => {
  const asked: (Kind | undefined)[] = []
  const socket = createSocket('udp4')
  sockets.push(socket)
  socket.on('message', (question, from) => {
    const kind = kinds[question.readUInt16BE(question.indexOf(0, 12) + 1)]
    asked.push(kind)
    if (known === 'silent' || kind === undefined) return
    socket.send(answerTo(question, kind, known[kind]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { asked, server: `127.0.0.1:${socket.address().port}` }
}

const never = new AbortController().signal

test('a name has the addresses of both kinds, and one kind is enough (H3)', async () => {
  const both = await nameServer({ A: '8.8.8.8', AAAA: '2606:4700:0:0:0:0:0:1111' })
  const found = await createDns([both.server])('client.test', never)
  expect(found).toEqual([
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ])
  expect(both.asked.sort()).toEqual(['A', 'AAAA'])
  const one = await nameServer({ A: '8.8.8.8' })
  expect(await createDns([one.server])('client.test', never)).toEqual([{ address: '8.8.8.8', family: 4 }])
  const none = await nameServer({})
  await expect(createDns([none.server])('client.test', never)).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('/etc/hosts is not read (H3)', async () => {
  const { server } = await nameServer({})
  await expect(createDns([server])('localhost', never)).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('one private address among those of DNS refuses the name (H3)', async () => {
  const { server } = await nameServer({ A: '10.0.0.1' })
  const outbound = createOutbound({ allow: [], resolve: createDns([server]) })
  await expect(outbound.request('https://client.test/')).rejects.toMatchObject({
    refused: true,
    message: 'https://client.test: the address is not public',
  })
})

test('only a name that the host allows takes a thread; any other is a question to DNS (H3)', async () => {
  const system = jest.spyOn(dns, 'lookup')
  const question = jest.spyOn(dns.Resolver.prototype, 'resolve4').mockResolvedValue(['10.0.0.1'] as never)
  jest.spyOn(dns.Resolver.prototype, 'resolve6').mockRejectedValue(new Error('none'))
  const outbound = createOutbound({ allow: ['https://localhost:1'] })
  await expect(outbound.request('https://client.test/')).rejects.toThrow('the address is not public')
  expect({ system: system.mock.calls.length, question: question.mock.calls }).toEqual({
    system: 0,
    question: [['client.test']],
  })
  await expect(outbound.request('https://localhost:1/')).rejects.toThrow('no response')
  expect({ system: system.mock.calls.length, question: question.mock.calls.length }).toEqual({
    system: 1,
    question: 1,
  })
})

test('the questions to a silent name server end with the request (H3)', async () => {
  const { server, asked } = await nameServer('silent')
  const end = new AbortController()
  const answer = createDns([server])('client.test', end.signal)
  while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve))
  end.abort()
  await expect(answer).rejects.toMatchObject({ code: 'ECANCELLED' })
})
