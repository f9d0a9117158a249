import type { Request } from 'express'
import { admin, device } from '../../../lib/features/index.ts'
import { callback, laterHost } from '../../support/host.ts'
import { type Answer, fieldsOf, RawBrowser, textOf } from '../../support/raw-browser.ts'

const administrators = { allow: ({ req }: { req: Request }) => req.get('x-admin') ?? false }
const host = laterHost({ options: { features: [admin(administrators), device()], limits: false } })
beforeAll(host.start)
afterAll(host.close)

const carol = () => new RawBrowser(host.app, undefined, { 'x-admin': 'carol' })
const newClient = '/oauth/admin/new-client'
/** The open and the closed parts of the form. */
const partsOf = ({ html }: Answer) => {
  const parts = [...html.matchAll(/<details class="form-part" id="part-([a-z-]+)"( open)?>/g)]
  const named = (isOpen: boolean) =>
    parts.filter(([, , open]) => (open !== undefined) === isOpen).map(([, name]) => name)
  return { open: named(true), closed: named(false) }
}

test('a new client shows its basics first and the rest in closed parts, with JSON last', async () => {
  const page = await carol().get(newClient)
  expect(partsOf(page)).toEqual({ open: [], closed: ['sign-in', 'permissions', 'links', 'advanced'] })
  const order = [...page.html.matchAll(/ id="(field-[a-z_]+|part-[a-z-]+)"/g)].map(([, id]) => id)
  expect(order.slice(0, 5)).toEqual([
    'field-client_id',
    'field-client_name',
    'field-redirect_uris',
    'field-first_party',
    'part-sign-in',
  ])
  expect(order.at(-1)).toBe('field-other')
})

test('grants are in words, with their registered value beside them (pages 35)', async () => {
  const page = textOf(await carol().get(newClient))
  for (const grant of [
    'Sign people in authorization_code',
    'Stay signed in refresh_token',
    'Act as itself, without a user client_credentials',
    'On devices without a keyboard urn:ietf:params:oauth:grant-type:device_code',
  ])
    expect(page).toContain(grant)
})

test('a part is open if it says something of its own (pages 35)', async () => {
  const { client_id } = await host.oauth.clients.create({
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    policy_uri: 'https://desk.example.com/privacy',
  })
  const path = `/oauth/admin/client?client_id=${client_id}`
  expect(partsOf(await carol().get(path)).open).toEqual(['links'])
  await host.oauth.clients.update(client_id, { policy_uri: null, default_max_age: 60, scope: 'openid' })
  expect(partsOf(await carol().get(path)).open).toEqual(['permissions', 'advanced'])
})

test('a part with a wrong field is open, and closed parts are sent with the form (pages 35)', async () => {
  const browser = carol()
  const page = await browser.get(newClient)
  const fields = { client_id: 'parts', redirect_uris: callback, tos_uri: 'terms', 'scope:openid': 'on' }
  const refused = await browser.submit(page, 'value="create"', fields)
  expect(refused.status).toBe(400)
  expect(partsOf(refused).open).toEqual(['permissions', 'links'])
  expect(refused.html).toContain('href="#field-tos_uri"')
  expect(fieldsOf(refused, 'value="create"')).toMatchObject(fields)
  await browser.submit(refused, 'value="create"', { tos_uri: '' })
  expect(await host.oauth.clients.get('parts')).toMatchObject({
    grant_types: ['authorization_code', 'refresh_token'],
    scope: 'openid',
  })
})
