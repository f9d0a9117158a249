import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'

/** What a TLS server of a test shows to the browser. */
export interface Certificate {
  /** PEM. */
  readonly key: string
  /** PEM. */
  readonly cert: string
  /** SHA-256 of the public key, by which Chromium can be told to trust this very certificate and no other. */
  readonly pin: string
}

/** DER: tag, length, content (X.690 §8.1). */
const der = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents)
  const size = Buffer.from(content.length.toString(16).padStart(4, '0'), 'hex')
  const length = content.length < 0x80 ? [content.length] : [0x82, ...size]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents)
const integer = (value: Buffer): Buffer => der(0x02, value)
const bits = (value: Buffer): Buffer => der(0x03, Buffer.from([0]), value)
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))

const commonName = '550403'
const subjectAltName = '551d11'
const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'))

const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(identifier(commonName), der(0x0c, Buffer.from(text)))))

/** YYMMDDHHMMSSZ, so many days from now. */
const utcTime = (days: number): Buffer => {
  const time = new Date(Date.now() + days * 86_400_000).toISOString()
  return der(0x17, Buffer.from(`${time.slice(2, 19).replaceAll(/\D/g, '')}Z`))
}

/** RFC 5280 §4.1.2, signed by its own key. */
const toBeSigned = (hosts: readonly string[], publicKey: Buffer): Buffer => {
  const name = nameOf('Latchkey tests')
  const names = der(0x04, sequence(...hosts.map((host) => der(0x82, Buffer.from(host)))))
  return sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(utcTime(-1), utcTime(7)),
    name,
    publicKey,
    der(0xa3, sequence(sequence(identifier(subjectAltName), names))),
  )
}

const certificateOf = (hosts: readonly string[], publicKey: Buffer, privateKey: KeyObject): Buffer => {
  const content = toBeSigned(hosts, publicKey)
  return sequence(content, ecdsaWithSha256, bits(sign('sha256', content, privateKey)))
}

/** A self-signed certificate for these host names, with a key of its own, for a week. */
export const createCertificate = (hosts: readonly string[]): Certificate => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: new X509Certificate(certificateOf(hosts, spki, privateKey)).toString(),
    pin: createHash('sha256').update(spki).digest('base64'),
  }
}
