import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer, request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { exportJWK, type JWK } from 'jose'
import * as undici from 'undici'
import { closeServer, listenOn, type TestServer } from './client-server.ts'
import { type Fields, given } from './tokens.ts'

/** A certificate with its key, both PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** @example publicJwk(certificate) // { kty: 'EC', crv: 'P-256', x: …, y: … } */
export const publicJwk = ({ cert }: Certificate): Promise<JWK> =>
  exportJWK(new X509Certificate(cert).publicKey)

/** A `fetch` for stock clients, which presents the certificate and trusts the authority. */
export const fetchWith =
  ({ key, cert }: Certificate, authority: Pick<Certificate, 'cert'>) =>
  (url: string, options: object): Promise<Response> => {
    const dispatcher = new undici.Agent({ connect: { key, cert, ca: authority.cert } })
    return undici.fetch(url, { ...options, dispatcher }) as unknown as Promise<Response>
  }

const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()

interface Wishes {
  /** As `openssl req -subj` reads it, in the order of the certificate. */
  readonly subject: string
  /** Lines of `x509v3_config`. */
  readonly extensions?: string
  /** How long it is valid; below zero it has expired. @default 1 */
  readonly days?: number
  readonly key?: string
}

/** An authority of a test's own. */
export interface Authority extends Certificate {
  issue(wishes: Wishes): Certificate
}

const inFolder = <T>(files: Readonly<Record<string, string>>, work: (folder: string) => T): T => {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const openssl = (cwd: string, command: string, ...more: string[]): void =>
  void execFileSync('openssl', [...command.split(' '), ...more], { cwd, stdio: 'pipe' })

/** Signs a certificate with itself, as an authority does, or a client with `self_signed_tls_client_auth`. */
export const selfSigned = ({ subject, extensions = '', key = newKey() }: Wishes): Certificate =>
  inFolder({ key }, (folder) => {
    const added = extensions.split('\n').flatMap((line) => (line === '' ? [] : ['-addext', line]))
    openssl(folder, 'req -x509 -utf8 -key key -days 2 -out cert', '-subj', subject, ...added)
    return { key, cert: readFileSync(join(folder, 'cert'), 'utf8') }
  })

export const createAuthority = (subject: string): Authority => {
  const own = selfSigned({ subject })
  const issue = ({ subject: name, extensions = '', days = 1, key = newKey() }: Wishes): Certificate =>
    inFolder({ ...own, extensions, own: key }, (folder) => {
      openssl(folder, 'req -new -utf8 -multivalue-rdn -key own -out request -subj', name)
      const sign = `x509 -req -in request -CA cert -CAkey key -extfile extensions -days ${days} -out issued`
      openssl(folder, sign)
      return { key, cert: readFileSync(join(folder, 'issued'), 'utf8') }
    })
  return { ...own, issue }
}

/** An https server on a free port that requests certificates of clients, and accepts connections without a valid one. */
export const openMutualTls = async (
  { key, cert }: Certificate,
  ca: string,
  listener: RequestListener,
): Promise<Pick<TestServer, 'origin' | 'close'>> => {
  const server = createServer({ key, cert, ca, requestCert: true, rejectUnauthorized: false }, listener)
  return {
    origin: `https://localhost:${await listenOn(server, 'localhost')}`,
    close: () => closeServer(server),
  }
}

interface Sending {
  readonly certificate?: Certificate
  /** Of the server. */
  readonly ca?: string
  /** Sent by POST; without it the method is GET. */
  readonly form?: Fields
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request with a certificate on a connection of its own. */
export const send = async (
  url: string,
  { certificate, ca, form, token, headers }: Sending = {},
): Promise<{ status: number; body: Record<string, unknown> }> => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method: form ? 'POST' : 'GET',
      agent: false,
      headers: {
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    } as const
    const secure = { ...options, ca, ...certificate }
    const sent = url.startsWith('https:')
      ? httpsRequest(url, secure, resolve)
      : httpRequest(url, options, resolve)
    sent.on('error', reject).end(form && new URLSearchParams(given(form)).toString())
  })
  const body = await text(response)
  return { status: response.statusCode ?? 0, body: body.startsWith('{') ? JSON.parse(body) : { body } }
}
