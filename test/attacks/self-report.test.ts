import supertest from 'supertest'
import { createOperatorCode } from '../../lib/keys/operator-code.ts'
import { type Host, startHost } from '../support/host.ts'

const [secret, older] = [
  'a secret of the tests that is long enough',
  'an older secret that is long enough too',
]
const now = Math.floor(Date.now() / 1000)

let host: Host
beforeAll(async () => {
  host = await startHost({ options: { secrets: [secret, older] } })
})
afterAll(() => host.close())

const report = (authorization?: string) => {
  const request = supertest(host.app).get('/oauth/doctor')
  return authorization === undefined ? request : request.set('Authorization', authorization)
}
const signed = (by: string, time = now) => `Operator ${createOperatorCode(by, time)}`

test.each([
  ['nothing', undefined],
  ['another secret', signed('another secret that is as long as the first')],
  ['a code of six minutes ago', signed(secret, now - 360)],
  ['a code of a later time', signed(secret, now + 360)],
  ['a code for no time', 'Operator .'],
  ['the time of another code', signed(secret).replace(/\d+\./, `${now - 1}.`)],
  ['the scheme of access tokens', signed(secret).replace('Operator', 'Bearer')],
])('the server tells nothing about itself for %s', async (_, authorization) => {
  const { status, body } = await report(authorization)
  const error = 'invalid_request'
  expect({ status, body }).toEqual({
    status: 404,
    body: { error, error_description: 'there is nothing here' },
  })
})

test.each([secret, older])('it reports no secret to the holder of %s', async (by) => {
  const { status, text } = await report(signed(by))
  expect({ status, keys: Object.keys(JSON.parse(text)) }).toEqual({
    status: 200,
    keys: ['production', 'node', 'trustProxy', 'guardedScopes'],
  })
})
