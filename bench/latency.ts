import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Passes everything on, each piece after so many milliseconds, in the order in which it came. */
const pass = (from: Socket, to: Socket, milliseconds: number): void => {
  from.on('data', (piece) => setTimeout(() => to.write(piece), milliseconds))
  from.on('end', () => setTimeout(() => to.end(), milliseconds))
  from.on('error', () => to.destroy())
  from.setNoDelay()
}

/**
 * Opens a way to a database server on which each round trip takes longer, as over a network. It ends with this process.
 *
 * @param target the URL of the server
 * @param milliseconds how much longer a round trip takes
 * @returns the URL to use instead
 */
export const withLatency = async (target: string, milliseconds: number): Promise<string> => {
  const url = new URL(target)
  const { hostname, port } = url
  const proxy = createServer((client) => {
    const server = connect(Number(port || 5432), hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const)
      pass(from, to, milliseconds / 2)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  proxy.unref()
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return url.href
}
