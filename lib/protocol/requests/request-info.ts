/** Identifies one request in the log: everything logged about it carries the same id. */
export interface RequestInfo {
  /** In every event of the request, in the log, and on the error page. */
  readonly requestId: string
  /** The client's IP address, as Express determines it (`trust proxy`). */
  readonly address: string
  /** The program that sent it, such as `cursor/1.2`; only if a feature observes clients, and absent for browsers. */
  readonly agent?: string
}
