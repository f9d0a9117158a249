import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto'
import { authenticatorCertificate, certificate } from './certificate.ts'
import { type Answer, formOf } from './raw-browser.ts'

// An authenticator of WebAuthn in software, with one passkey: enough to say everything that a real one says, and lies.

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

/** CBOR (RFC 8949 §3): numbers, strings, bytes, lists of bytes, and maps. */
const cbor = (value: number | string | Buffer | Buffer[] | Map<number | string, unknown>): Buffer => {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.of((major << 5) | length)
    if (length < 256) return Buffer.of((major << 5) | 24, length)
    return Buffer.of((major << 5) | 25, length >> 8, length & 255)
  }
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  const entries = [...value].flatMap(([name, entry]) => [cbor(name), cbor(entry as never)])
  return Buffer.concat([head(5, value.size), ...entries])
}

const flag = { present: 1, verified: 4, eligible: 8, backedUp: 16, attested: 64 }
const usual = flag.present | flag.verified

/** What an answer says, where it differs from the truth. */
export interface Lies {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly crossOrigin?: boolean
  /** Flags to set, apart from the one for attested data. */
  readonly flags?: number
  readonly counter?: number
  readonly userHandle?: string
  /** Another credential's ID. */
  readonly id?: string
  /** A statement of the format `packed` (WebAuthn §8.2), with a certificate or of the passkey itself. @default none */
  readonly attestation?: 'certificate' | 'self'
}

interface Options {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
  readonly allowCredentials?: readonly { readonly id: string }[]
  readonly excludeCredentials?: readonly { readonly id: string }[]
}

/** What a page asks the browser for. */
export const askedBy = (page: Answer): Options => {
  const [, json] = /data-options="([^"]*)"/.exec(page.html) ?? []
  if (json === undefined) throw new Error(`the page asks for no passkey: ${page.html}`)
  return JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
}

/** A passkey, as it can be written into a file. */
export interface KeptPasskey {
  readonly id: string
  /** PKCS #8, in base64url. */
  readonly privateKey: string
  readonly userHandle: string
  readonly uses: number
}

export interface Authenticator {
  readonly id: string
  /** The passkey, for another authenticator. */
  kept(): KeptPasskey
  /** The row of its passkey, as if this user had added it. */
  row(subject: string): Record<string, string | number>
  /** What the script of the page that adds passkeys sends. */
  create(options: Options, lies?: Lies): string
  /** What the script of the sign-in page sends. */
  get(options: Options, lies?: Lies): string
}

/**
 * @param origin of the pages that the browser shows
 * @param isSynced whether its passkey is copied to other devices
 * @param kept a passkey that was kept, instead of a new one
 */
export const createAuthenticator = (
  origin = 'http://localhost:3000',
  isSynced = false,
  kept?: KeptPasskey,
): Authenticator => {
  const privateKey = kept
    ? createPrivateKey({ key: Buffer.from(kept.privateKey, 'base64url'), format: 'der', type: 'pkcs8' })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const id = kept ? Buffer.from(kept.id, 'base64url') : randomBytes(32)
  const coordinates = [x, y].map((each) => Buffer.from(each, 'base64url'))
  const key = cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinates[0]],
      [-3, coordinates[1]],
    ]),
  )
  const normal = isSynced ? usual | flag.eligible | flag.backedUp : usual
  let userHandle = kept?.userHandle ?? ''
  let uses = kept?.uses ?? 0

  const clientDataOf = (type: string, { challenge }: Options, lies: Lies): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...lies }))
  const authData = (rpId: string, flags: number, counter: number, attested = Buffer.of()): Buffer => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(rpId), Buffer.of(flags), count, attested])
  }
  const answer = (given: string, response: Record<string, Buffer>, more: object = {}): string => {
    const texts = Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')])
    return JSON.stringify({ id: given, response: { ...Object.fromEntries(texts), ...more } })
  }

  return {
    id: id.toString('base64url'),
    kept: () => ({
      id: id.toString('base64url'),
      privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64url'),
      userHandle,
      uses,
    }),
    row: (subject) => ({
      hash: sha256(id.toString('base64url')).toString('base64url'),
      subject,
      name: 'Key',
      credential_id: id.toString('base64url'),
      public_key: key.toString('base64url'),
      counter: 0,
      transports: 'usb',
      backed_up: 0,
      created_at: 1_790_000_000,
    }),
    create: (options, lies = {}) => {
      const { rpId = options.rp?.id ?? '', flags = normal, counter = uses } = lies
      userHandle = options.user?.id ?? ''
      const length = Buffer.of(0, id.length)
      const credential = Buffer.concat([Buffer.alloc(16), length, id, key])
      const data = authData(rpId, flags | flag.attested, counter, credential)
      const clientDataJSON = clientDataOf('webauthn.create', options, lies)
      const signed = Buffer.concat([data, sha256(clientDataJSON)])
      const own = { key: privateKey, x5c: [] }
      const attested = {
        key: certificate.key,
        x5c: [['x5c', [Buffer.from(authenticatorCertificate, 'base64')]]] as const,
      }
      const { key: signingKey, x5c } = lies.attestation === 'certificate' ? attested : own
      const packed = new Map<string, unknown>([
        ['alg', -7],
        ['sig', sign('sha256', signed, signingKey)],
        ...x5c,
      ])
      const object = new Map<string, unknown>([
        ['fmt', lies.attestation === undefined ? 'none' : 'packed'],
        ['attStmt', lies.attestation === undefined ? new Map() : packed],
        ['authData', data],
      ])
      return answer(
        id.toString('base64url'),
        { clientDataJSON, attestationObject: cbor(object) },
        { transports: ['internal', 'hybrid', '<b>'] },
      )
    },
    get: (options, lies = {}) => {
      uses += 1
      const { rpId = options.rpId ?? '', flags = normal, counter = uses } = lies
      const clientDataJSON = clientDataOf('webauthn.get', options, lies)
      const authenticatorData = authData(rpId, flags, counter)
      const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientDataJSON)]), privateKey)
      const response = { clientDataJSON, authenticatorData, signature }
      return answer(lies.id ?? id.toString('base64url'), response, {
        userHandle: lies.userHandle ?? userHandle,
      })
    },
  }
}

/** The form that a page sends with a passkey, with these fields changed or added. */
export const passkeyForm = (page: Answer): { action: string; fields: Record<string, string> } => {
  const place = page.html.includes('form="login"') ? 'id="login"' : 'id="passkey"'
  const { action, fields } = formOf(page.html, place)
  return { action, fields: { ...fields, passkey: '' } }
}
