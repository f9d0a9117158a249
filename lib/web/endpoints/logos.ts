import { refusal } from '../../protocol/refusal.ts'
import { findLogo } from '../../storage/repositories/index.ts'
import type { Incoming } from '../http/context.ts'
import type { Endpoint } from '../http/endpoint.ts'
import { forever, sendFile } from './assets.ts'

/** The logo of a client, by its hash: browsers load it from here only, and it never changes. */
const logo = async ({ server, req, res }: Incoming): Promise<void> => {
  const hash = String(req.params.hash)
  const found = /^[\w-]{43}$/.test(hash) ? await findLogo(server.database, { hash }) : undefined
  if (found === undefined)
    throw refusal('parameter_invalid', {
      values: { parameter: 'the', problem: 'logo does not exist' },
      status: 404,
    })
  sendFile(req, res, found.body, {
    'Content-Type': found.type,
    ETag: `"${hash}"`,
    'Cache-Control': forever,
    'Content-Security-Policy': "default-src 'none'",
  })
}

export const logosEndpoint: Endpoint<Incoming> = {
  path: '/logos/:hash',
  methods: { GET: logo },
}
