import { openTunnel, type ProxyError } from '../../outbound/tunnel.ts'
import { type Check, error, type Found, note, type Subject } from '../check.ts'

/** Milliseconds. */
const proxyTimeout = 5000

/** A host that no proxy finds. Whatever the proxy answers shows that it runs. */
const nowhere = new URL('https://latchkey-doctor.invalid')

const proxyFindings = async ({ options: { outbound } }: Subject): Promise<Found> => {
  const { proxy } = outbound
  if (proxy === undefined) {
    const name = ['HTTPS_PROXY', 'https_proxy'].find((variable) => process.env[variable])
    return (
      name !== undefined &&
      note(
        `${name} is set, and Latchkey does not use it`,
        `if other servers can be reached only through it: outbound: { proxy: process.env.${name} }`,
      )
    )
  }
  try {
    const tunnel = await openTunnel(proxy, nowhere, AbortSignal.timeout(proxyTimeout))
    tunnel.destroy()
  } catch (cause) {
    const { status, message } = cause as ProxyError
    // Any other refusal is an answer.
    if (status !== undefined && status !== 407) return undefined
    return error(
      `requests to other servers fail, because ${message}: ${new URL(proxy).origin}`,
      "set outbound.proxy to the URL of a proxy that runs, with its name and password if it wants some: 'http://NAME:PASSWORD@HOST:PORT'",
    )
  }
  return undefined
}

/** Asks the proxy for requests to other servers. A server does not do this when it starts. */
export const proxyChecks: readonly Check<Subject>[] = [
  { id: 'outbound-proxy', title: 'the proxy for requests to other servers answers', run: proxyFindings },
]
