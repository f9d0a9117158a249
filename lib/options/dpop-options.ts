/** Access tokens that are bound to a key of the client (RFC 9449). */
export interface DpopOptions {
  /**
   * Whether each proof needs a nonce of this server, so that proofs cannot be made in advance. Clients fetch it with one more
   * request, and their clocks need not be right. @default 'none'
   */
  nonces?: 'none' | 'required'
  /**
   * Where UserInfo and guards in this process record used proofs: in the database, once for all processes, or in the memory of
   * each process, which takes no statement. `/token` and `/par` always use the database. @default 'database'
   */
  usedProofs?: 'database' | 'memory'
  /**
   * Where clients call APIs of this app, if that is neither the origin of `issuer` nor that of a resource, or if a proxy removes
   * a part of the path: `['https://api.example.com/v1']`. @default []
   */
  baseUrls?: readonly string[]
}
