import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Passes everything on, each piece after so many milliseconds, in the order in which it came. */
const pass = (from: Socket, to: Socket, milliseconds: number): void => {
  from.on('data', (piece) => {
    if (milliseconds === 0) to.write(piece)
    else setTimeout(() => to.write(piece), milliseconds)
  })
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
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
  const proxy = createServer((client) => {
    const server = connect(Number(url.port || 5432), url.hostname)
    pass(client, server, 0)
    pass(server, client, milliseconds)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  proxy.unref()
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return url.href
}
