import type { EndpointDescription } from '../../oauth/authorization-server.ts'
import type { Incoming } from './context.ts'

/** Where GET is, HEAD is too: it runs the same handler, and Express drops the body. For pages it runs no handler. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type Handler<C extends Incoming> = (context: C) => void | Promise<void>

/** An endpoint, said once: routes, 405 answers, CORS, discovery and limits derive from this record. */
export interface Endpoint<C extends Incoming> extends EndpointDescription {
  readonly methods: Readonly<Partial<Record<Method, Handler<C>>>>
  /** Whether scripts of any origin may read the answer; only for endpoints that read no cookie. */
  readonly cors?: boolean
  /** Of pages: the most bytes of a form. @default 16384 */
  readonly maxForm?: number
  /** Of pages: whether a request may read and start a session. @default every request may */
  readonly usesSession?: (incoming: Incoming) => boolean
}
