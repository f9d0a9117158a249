// One of several processes of a host that share a login: it has read the tokens, and refreshes them when it is told to.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { refreshAuthorization } from '@modelcontextprotocol/client'

const [, , file, clientId] = process.argv
const write = (tokens) => {
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(tokens))
  renameSync(`${file}.${process.pid}`, file)
}

let kept
process.on('message', async ({ read, origin, issuer }) => {
  if (read) {
    kept = JSON.parse(readFileSync(file, 'utf8'))
    process.send({ read: true })
    return
  }
  try {
    const tokens = await refreshAuthorization(issuer, {
      metadata: { issuer, token_endpoint: `${origin}/oauth/token`, response_types_supported: ['code'] },
      clientInformation: { client_id: clientId },
      refreshToken: kept.refresh_token,
    })
    write(tokens)
    process.send({ refresh_token: tokens.refresh_token })
  } catch (error) {
    process.send({ error: String(error) })
  }
})
process.send({ ready: true })
