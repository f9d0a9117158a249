import express from 'express'
import supertest from 'supertest'
import { authRouter } from '../../lib/index.ts'
import { startHost } from '../support/host.ts'
import { closedAfterFile } from '../support/told.ts'

const resources = {
  'https://app.example.com/mcp': { name: 'Notes', scopes: ['notes:read', 'notes:write'] },
  'https://app.example.com': { scopes: ['notes:read'] },
  'https://app.example.com/odd(path)*:x{y}?tenant=1': { scopes: [] },
  'https://one.example.com/shared': { scopes: ['notes:read'] },
  'https://two.example.com/shared': { scopes: ['notes:write'] },
}
const prefix = '/.well-known/oauth-protected-resource'

test('each resource has its document, where RFC 9728 §3.1 says', async () => {
  const host = await startHost({ options: { resources } })
  const get = (path: string, from = 'app.example.com') => supertest(host.app).get(path).set('Host', from)
  const notes = await get(`${prefix}/mcp`)
  expect(notes.body).toEqual({
    resource: 'https://app.example.com/mcp',
    authorization_servers: ['http://localhost:3000/oauth'],
    scopes_supported: ['notes:read', 'notes:write'],
    bearer_methods_supported: ['header'],
    resource_name: 'Notes',
  })
  expect(notes.headers).toMatchObject({
    'content-type': 'application/json',
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=300',
  })
  const named = async (path: string, from?: string) => (await get(path, from)).body.resource
  expect(await named(prefix)).toBe('https://app.example.com')
  expect(await named(`${prefix}/odd(path)*:x{y}?tenant=1`)).toBe(Object.keys(resources)[2])
  // Behind a proxy the host may be another one; only a path that two hosts share depends on it.
  expect(await named(`${prefix}/mcp`, 'backend:8080')).toBe('https://app.example.com/mcp')
  for (const from of ['one', 'two']) {
    expect(await named(`${prefix}/shared`, `${from}.example.com`)).toBe(`https://${from}.example.com/shared`)
  }
  expect((await get(`${prefix}/shared`, 'three.example.com')).status).toBe(404)
  expect((await supertest(host.app).post(`${prefix}/mcp`)).status).toBe(405)
  await host.close()
})

test.each([
  ['Express 5', express],
  ['Express 4', jest.requireActual<typeof express>('express-4')],
])('other paths below it are the host’s own: %s', async (_version, create) => {
  const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Write notes for you' }
  const database = { client: 'better-sqlite3', connection: { filename: ':memory:' } }
  const logger = { info: () => {}, warn: () => {}, error: () => {} }
  const oauth = authRouter({
    database,
    scopes,
    resources,
    logger,
    secrets: ['a secret that is long enough for this'],
  })
  closedAfterFile.push(oauth)
  const app = create().use(oauth.wellKnown)
  app.get(`${prefix}/other`, (_req, res) => void res.json({ resource: 'mine' }))
  expect((await supertest(app).get(`${prefix}/other`)).body).toEqual({ resource: 'mine' })
  expect((await supertest(app).get(`${prefix}/mcp`)).body.resource).toBe('https://app.example.com/mcp')
  for (const path of [
    '/.well-known/oauth-authorization-server/oauth',
    '/.well-known/openid-configuration/oauth',
  ]) {
    expect((await supertest(app).get(path)).body.issuer).toBe('http://localhost:3000/oauth')
  }
})
