// An app that starts a server as a program and calls a tool of it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const [, , name, command, ...args] = process.argv
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' })
const client = new Client({ name: 'lab', version: '1.0.0' })
await client.connect(transport, { timeout: 80_000 })
console.log(JSON.stringify(await client.callTool({ name }, undefined, { timeout: 80_000 })))
process.exit(0)
