import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer, request as httpsRequest } from 'node:https'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { certificate } from '../support/certificate.ts'
import { closeServer, listenOn } from '../support/client-server.ts'

/** A request that came to a site which is not ours. */
export interface Received {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * A small web on this machine and a Chromium that knows it: https sites by name, each a site of its own in the
 * browser's eyes, and http on the loopback addresses. A site answers with a page that says its name, unless told else.
 */
export interface Web {
  readonly browser: Browser
  /** `https://name:port` */
  origin(name: string): string
  /** `http://host:port` of a loopback host, `[::1]` among them where the machine has it. */
  loopback(host: 'localhost' | 'app.localhost' | '127.0.0.1' | '[::1]'): string
  /** An app in charge of a whole https site; its requests are not recorded. */
  serve(name: string, listener: RequestListener): void
  /** What an address (origin and path) answers from now on. */
  answer(address: string, listener: RequestListener): void
  /** Every request that came to a site without an app, in order. */
  readonly received: readonly Received[]
  /** A form POST of a program, which has no cookies. */
  post(url: string, form: Readonly<Record<string, string>>): Promise<{ status: number; body: string }>
  close(): Promise<void>
}

/** Whether the machine has the IPv6 loopback address. */
export const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((found) => found?.address === '::1')

/** A page of a test's own. */
export const sendPage = (res: ServerResponse, body: string): void => {
  res.setHeader('Content-Type', 'text/html; charset=utf-8')
  res.end(`<!doctype html><html lang="en"><title>A page of another site</title><body>${body}</body></html>`)
}

const urlOf = (req: IncomingMessage, scheme: string): URL =>
  new URL(`${scheme}://${req.headers.host}${req.url}`)

/** Starts servers and browser; close it in `afterAll`. */
export const openWeb = async (): Promise<Web> => {
  const apps = new Map<string, RequestListener>()
  const answers = new Map<string, RequestListener>()
  const received: Received[] = []
  const site = async (req: IncomingMessage, res: ServerResponse, url: URL): Promise<void> => {
    const { method = '', headers } = req
    // Browsers ask for it whenever they like.
    if (url.pathname === '/favicon.ico') return void res.writeHead(404).end()
    received.push({ method, url, headers, body: await text(req) })
    const answer = answers.get(url.origin + url.pathname)
    if (answer) answer(req, res)
    else sendPage(res, `<h1>This is ${url.host}</h1>`)
  }
  const listener =
    (scheme: string): RequestListener =>
    (req, res) => {
      const url = urlOf(req, scheme)
      const app = scheme === 'https' ? apps.get(url.hostname) : undefined
      if (app) app(req, res)
      // Only a broken connection fails here, and then the browser no longer waits for an answer.
      else site(req, res, url).catch(() => res.destroy())
    }
  const secure = createServer(certificate, listener('https'))
  const plain = createHttpServer(listener('http'))
  const plainIpv6 = createHttpServer(listener('http'))
  const securePort = await listenOn(secure)
  const plainPort = await listenOn(plain)
  const ipv6Port = hasIpv6 ? await listenOn(plainIpv6, '::1') : 0
  const servers = [secure, plain, ...(hasIpv6 ? [plainIpv6] : [])]
  const browser = await launchBrowser().catch(async (error: unknown) => {
    await Promise.all(servers.map(closeServer))
    throw error
  })
  return {
    browser,
    origin: (name) => `https://${name}:${securePort}`,
    loopback: (host) => `http://${host}:${host === '[::1]' ? ipv6Port : plainPort}`,
    serve: (name, app) => void apps.set(name, app),
    answer: (address, reply) => void answers.set(address, reply),
    received,
    post,
    close: async () => {
      await browser.close()
      await Promise.all(servers.map(closeServer))
    },
  }
}

const post = (
  address: string,
  form: Readonly<Record<string, string>>,
): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, host, port, pathname } = new URL(address)
    const headers = { host, 'content-type': 'application/x-www-form-urlencoded' }
    const options = {
      host: '127.0.0.1',
      servername: hostname,
      port,
      path: pathname,
      method: 'POST',
      headers,
      rejectUnauthorized: false,
    }
    const request = httpsRequest(options, (res) => {
      text(res).then((body) => resolve({ status: res.statusCode ?? 0, body }), reject)
    })
    request.once('error', reject).end(new URLSearchParams(form).toString())
  })
