import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, getCiphers, type SecureVersion } from 'node:tls'
import { selfSigned } from '../support/mutual-tls.ts'

// What docs/fapi2.md says about TLS, on servers of Node.

const page = readFileSync(join(__dirname, '../../docs/fapi2.md'), 'utf8')
const sample = /const ciphers = \[\n([\s\S]*?)\n\]\.join\(':'\)/.exec(page)?.[1] ?? ''
const documented = [...sample.matchAll(/'([A-Z0-9_-]+)'/g)].map(([, name = '']) => name).join(':')

/** RFC 9325 §4.2. */
const recommended = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
]
const ofTls12 = getCiphers()
  .map((name) => name.toUpperCase())
  .filter((name) => !name.startsWith('TLS_'))

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()
/** One for each kind of key, because a cipher names it. */
const certificates = [
  selfSigned({ subject: '/CN=localhost' }),
  selfSigned({ subject: '/CN=localhost', key: rsa }),
]

/** Whether a client that has this version and these ciphers alone gets a connection. */
const connects = (port: number, version: SecureVersion, ciphers?: string): Promise<boolean> =>
  new Promise((resolve) => {
    const limits = { minVersion: version, maxVersion: version, ...(ciphers !== undefined && { ciphers }) }
    const socket = connect({ port, host: 'localhost', rejectUnauthorized: false, ...limits })
    socket.once('secureConnect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('secureConnect', () => socket.destroy())
  })

/** The versions and the ciphers of TLS 1.2 that a server with these options accepts. */
const acceptedBy = async (options: object): Promise<{ ciphers: string[]; versions: string[] }> => {
  const ciphers = new Set<string>()
  const versions = new Set<string>()
  for (const certificate of certificates) {
    const server: Server = createServer({ ...certificate, ...options })
    await new Promise<void>((done) => void server.listen(0, 'localhost', done))
    const { port } = server.address() as AddressInfo
    // A name that this build of OpenSSL cannot offer throws.
    for (const name of ofTls12)
      if (await connects(port, 'TLSv1.2', name).catch(() => false)) ciphers.add(name)
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
      if (await connects(port, version)) versions.add(version)
    await new Promise((done) => server.close(done))
  }
  return { ciphers: [...ciphers].sort(), versions: [...versions].sort() }
}

test('the documented ciphers are those of BCP 195 with TLS 1.2, and TLS 1.3 stays on (C2)', async () => {
  expect(await acceptedBy({ ciphers: documented })).toEqual({
    ciphers: recommended,
    versions: ['TLSv1.2', 'TLSv1.3'],
  })
})

test('with minVersion there is no TLS 1.2 (C2)', async () => {
  expect(page).toContain("`minVersion: 'TLSv1.3'`")
  expect(await acceptedBy({ minVersion: 'TLSv1.3' })).toEqual({ ciphers: [], versions: ['TLSv1.3'] })
})

test('Node by itself accepts more, so hosts must set them (C2)', async () => {
  const { ciphers } = await acceptedBy({})
  expect(ciphers).toEqual(expect.arrayContaining(recommended))
  expect(ciphers.length).toBeGreaterThan(recommended.length)
})
