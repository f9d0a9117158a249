import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { closeServer, listenOn } from './client-server.ts'

/** A list whose growth can be waited for. */
export interface Inbox<T> {
  readonly items: readonly T[]
  add(item: T): void
  /** Resolves with the first so many, as soon as they are there. */
  until(count: number): Promise<readonly T[]>
}

export const createInbox = <T>(): Inbox<T> => {
  const items: T[] = []
  const waiting = new Set<() => void>()
  return {
    items,
    add: (item) => {
      items.push(item)
      for (const look of waiting) look()
    },
    until: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (items.length < count) return
          waiting.delete(look)
          resolve(items.slice(0, count))
        }
        waiting.add(look)
        look()
      }),
  }
}

/** One back-channel request, as it came. */
interface ReceivedLogout {
  readonly method: string | undefined
  /** Which client it was for. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly fields: readonly [string, string][]
  readonly token: string
}

/** What a client does with a request; nothing leaves the sender waiting. */
export type Answer = (res: ServerResponse, count: number) => unknown

/** The back channels of clients, on a port of this machine. */
export interface LogoutReceiver {
  readonly origin: string
  readonly requests: Inbox<ReceivedLogout>
  /** Answers the requests to one path from now on; 200 unless said otherwise. */
  answer(path: string, answer: Answer): void
  close(): Promise<void>
}

export const openLogoutReceiver = async (): Promise<LogoutReceiver> => {
  const requests = createInbox<ReceivedLogout>()
  const answers = new Map<string, Answer>()
  const server = createServer((req, res) => {
    const receive = (body: string): void => {
      const path = req.url ?? ''
      const fields = [...new URLSearchParams(body)]
      const token = new URLSearchParams(body).get('logout_token') ?? ''
      requests.add({ method: req.method, path, headers: req.headers, fields, token })
      const count = requests.items.filter((request) => request.path === path).length
      const answer = answers.get(path) ?? (() => res.writeHead(200).end())
      answer(res, count)
    }
    text(req).then(receive, () => res.destroy())
  })
  return {
    origin: `http://127.0.0.1:${await listenOn(server)}`,
    requests,
    answer: (path, answer) => void answers.set(path, answer),
    close: () => closeServer(server),
  }
}
