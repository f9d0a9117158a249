/** One request as whoever reads the log afterwards needs it: what was said about it carries the same id. */
export interface RequestInfo {
  /** In every event of the request, in the log, and on the error page. */
  readonly requestId: string
  /** Where it came from, as Express makes it out (`trust proxy`). */
  readonly address: string
}
