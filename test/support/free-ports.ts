import { createServer } from 'node:net'

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })

const handedOut = new Set<number>()

/** Unused ports for programs that must know theirs before they listen, below those that outgoing connections are given. */
export const freePorts = async (count: number): Promise<number[]> => {
  const ports: number[] = []
  // Test files that run side by side begin at places of their own.
  for (let port = 16_000 + (process.pid % 250) * 60; ports.length < count; port += 1) {
    if (handedOut.has(port) || !(await isFree(port))) continue
    handedOut.add(port)
    ports.push(port)
  }
  return ports
}

/** One such port. */
export const freePort = async (): Promise<number> => {
  const [port = 0] = await freePorts(1)
  return port
}
