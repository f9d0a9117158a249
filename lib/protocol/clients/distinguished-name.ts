/**
 * Names of attribute types with their OIDs: those of RFC 4514 §3, and those that OpenSSL writes by name. Other types are
 * compared by the name or OID that is given.
 */
const attributeTypes: Readonly<Record<string, string>> = {
  CN: '2.5.4.3',
  SN: '2.5.4.4',
  serialNumber: '2.5.4.5',
  C: '2.5.4.6',
  L: '2.5.4.7',
  ST: '2.5.4.8',
  street: '2.5.4.9',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  title: '2.5.4.12',
  businessCategory: '2.5.4.15',
  postalCode: '2.5.4.17',
  GN: '2.5.4.42',
  organizationIdentifier: '2.5.4.97',
  DC: '0.9.2342.19200300.100.1.25',
  UID: '0.9.2342.19200300.100.1.1',
  emailAddress: '1.2.840.113549.1.9.1',
  jurisdictionL: '1.3.6.1.4.1.311.60.2.1.1',
  jurisdictionST: '1.3.6.1.4.1.311.60.2.1.2',
  jurisdictionC: '1.3.6.1.4.1.311.60.2.1.3',
}

const oids: ReadonlyMap<string, string> = new Map(
  Object.entries(attributeTypes).map(([name, oid]) => [name.toLowerCase(), oid]),
)

/** A type with its value, both as they are compared. */
type Attribute = readonly [type: string, value: string]

/** Attributes in a fixed order, because those of one relative name have none. */
type RelativeName = readonly Attribute[]

/** The tags of UTF8String, PrintableString and IA5String. */
const textTags = [0x0c, 0x13, 0x16]

/** A value in hexadecimal BER (RFC 4514 §2.4), if it is a short string. */
const decodedBer = (value: string): string => {
  const [tag = 0, length, ...content] = Buffer.from(value.slice(1), 'hex')
  const isText = textTags.includes(tag) && length === content.length && length < 0x80
  return isText ? Buffer.from(content).toString('utf8') : value
}

/** RFC 4514 §3: a character after a backslash, or bytes of UTF-8 as two digits each. */
const unescaped = (value: string): string =>
  value.replace(/(?:\\[0-9a-f]{2})+|\\(.)/gis, (bytes: string, character: string | undefined) =>
    character === undefined ? Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8') : character,
  )

/** Case and repeated spaces have no meaning (RFC 5280 §7.1, RFC 4518 §2). */
const comparable = (value: string): string =>
  value.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()

/**
 * Parses a distinguished name.
 *
 * @param text in the form of RFC 4514
 * @returns its relative names, as they are compared; undefined if it is malformed or empty
 */
const parseDistinguishedName = (text: string): readonly RelativeName[] | undefined => {
  const nextAttribute = /\s*([a-z0-9][a-z0-9.-]*)\s*=((?:\\[^\n]|[^"+,;<>\\])*)([,+]|$)/iy
  const names: Attribute[][] = [[]]
  for (;;) {
    const [matched, type = '', value = '', separator] = nextAttribute.exec(text) ?? []
    if (matched === undefined) return undefined
    const trimmed = value.trim()
    const decoded = trimmed.startsWith('#') ? decodedBer(trimmed) : unescaped(value)
    names.at(-1)?.push([oids.get(type.toLowerCase()) ?? type.toLowerCase(), comparable(decoded)])
    if (separator === ',') names.push([])
    if (separator === '') return names.map((attributes) => attributes.sort())
  }
}

/** @example isDistinguishedName('CN=shop,O=Example') // true */
export const isDistinguishedName = (text: string): boolean => parseDistinguishedName(text) !== undefined

/**
 * Whether a certificate's subject has this name (RFC 4514, RFC 5280 §7.1). The order of the relative names counts; case,
 * spaces, escapes and how types are written do not.
 *
 * @param name in the form of RFC 4514, where the last relative name of the certificate comes first
 * @param subject as `X509Certificate` of Node returns it: one relative name a line, in the order of the certificate
 */
export const isSubject = (name: string, subject: string | undefined): boolean => {
  const [wanted, found] = [name, (subject ?? '').split('\n').reverse().join(',')].map(parseDistinguishedName)
  return wanted !== undefined && JSON.stringify(wanted) === JSON.stringify(found)
}
