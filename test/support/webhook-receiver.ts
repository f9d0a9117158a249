import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { closeServer, listenOn } from './client-server.ts'
import { createInbox, type Inbox } from './logout-receiver.ts'

/** One request, as it came. */
export interface ReceivedWebhook {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  /** The bytes that were signed. */
  readonly text: string
  readonly body: {
    readonly type: string
    readonly timestamp: string
    readonly data: Readonly<Record<string, unknown>>
  }
}

/** A receiver of webhooks on a port of this machine. */
export interface WebhookReceiver {
  readonly url: string
  readonly requests: Inbox<ReceivedWebhook>
  /** Answers from now on; 204 unless said otherwise. What it does not answer leaves the sender waiting. */
  answer(answer: (res: ServerResponse, webhook: ReceivedWebhook) => unknown): void
  /** How many requests came at the same time, at most. */
  mostAtOnce(): number
  close(): Promise<void>
}

export const webhookSecret = `whsec_${Buffer.alloc(32, 'one').toString('base64')}`
export const otherWebhookSecret = `whsec_${Buffer.alloc(24, 'two').toString('base64')}`

/** Checks each request by the library of Standard Webhooks; a wrong signature makes the answer 401. */
export const openWebhookReceiver = async (): Promise<WebhookReceiver> => {
  const requests = createInbox<ReceivedWebhook>()
  let answer: Parameters<WebhookReceiver['answer']>[0] = (res) => res.writeHead(204).end()
  let [running, most] = [0, 0]
  const verifier = new Webhook(webhookSecret)
  const server = createServer((req, res) => {
    running += 1
    most = Math.max(most, running)
    res.on('close', () => {
      running -= 1
    })
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      try {
        verifier.verify(text, req.headers as Record<string, string>)
      } catch {
        return void res.writeHead(401).end()
      }
      const webhook = {
        id: String(req.headers['webhook-id']),
        headers: req.headers,
        text,
        body: JSON.parse(text),
      }
      requests.add(webhook)
      answer(res, webhook)
    })
  })
  return {
    url: `http://127.0.0.1:${await listenOn(server)}/hooks?key=of-the-path`,
    requests,
    answer: (next) => {
      answer = next
    },
    mostAtOnce: () => most,
    close: () => closeServer(server),
  }
}
