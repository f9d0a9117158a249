import { createServer } from 'node:http'
import express from 'express'
import supertest from 'supertest'
import { OptionsError } from '../../lib/index.ts'
import { trustProxy } from '../../lib/options/trust-proxy.ts'
import { addressBehind, trustsOf } from '../../lib/web/http/trust-proxy.ts'

const settings = [
  0,
  1,
  2,
  5,
  [],
  ['loopback'],
  ['127.0.0.1', '10.0.0.0/8'],
  ['loopback', 'uniquelocal', 'linklocal'],
  ['loopback', '2001:db8::/32', '198.51.100.7'],
] as const
const chains = [
  undefined,
  '',
  '203.0.113.9',
  '203.0.113.9, 10.1.2.3',
  ' 203.0.113.9 ,198.51.100.7,  10.1.2.3 ',
  '2001:db8::7, ::1',
  'fd00::1, ::ffff:10.0.0.1',
  'unknown, 10.0.0.1',
  '10.0.0.2, 10.0.0.1',
]

describe.each(settings.map((setting) => [setting]))('trustProxy: %j', (setting) => {
  test.each(chains)('the address in X-Forwarded-For %j is that of Express', async (chain) => {
    const app = express().set('trust proxy', setting)
    app.get('/', (req, res) => {
      const own = addressBehind(trustsOf(setting), req.socket.remoteAddress, req.headers['x-forwarded-for'])
      res.json({ express: req.ip, own })
    })
    const request = supertest(createServer(app)).get('/')
    const { body } = await (chain === undefined ? request : request.set('X-Forwarded-For', chain))
    expect(body.own).toBe(body.express)
  })
})

test.each([
  [true],
  [-1],
  [1.5],
  ['loopback'],
  [['nowhere']],
  [['0.0.0.0/0']],
  [['10.0.0.0/33']],
  [['::/0']],
  [[7]],
])('%j is refused: a client could choose its own address, or nothing would be trusted', (value) => {
  expect(() => trustProxy.check(value, 'trustProxy')).toThrow(OptionsError)
})
