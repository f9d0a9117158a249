/**
 * The maximum length of each kind of value, in UTF-16 code units. A token that this server issues must fit everywhere it comes
 * back: as a hint, at introspection, in an exchange and as a bearer token.
 */
export const lengths = {
  /** The `client_id`. */
  identifier: 255,
  nonce: 512,
  /** An authorization code. */
  code: 128,
  /** Frameworks keep in it where their user was. */
  state: 4096,
  /** JSON of `authorization_details`. */
  details: 8192,
  /** The header `DPoP`; a proof with an RSA key of 4,096 bits has about 2,400 characters. */
  proof: 4096,
  /** A token or a signed object: as long as the head of an HTTP request may be in Node, so no header carries a longer one. */
  token: 16_384,
  /** Every scope that a client can register by itself. */
  scope: 16_384,
  /** Everything else. */
  other: 2048,
} as const

/** The maximum sizes of what others send, in bytes. */
export const sizes = {
  /** A form from a client; the largest has three tokens and a few short values. JSON at `/register` and long forms of pages too. */
  form: 65_536,
  /** A form of our own pages, and so each of its fields. */
  pageForm: 16_384,
  /** A form from a client that our own page sends again: base64url takes four characters for three bytes. */
  repeatedForm: 87_400,
  /** The description of a client by itself, as JSON. */
  description: 16_384,
} as const
