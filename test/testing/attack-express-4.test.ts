import express from 'express'
import session from 'express-session'
import helmet from 'helmet'
import { attackHost, expectFindings } from '../support/attacked-host.ts'

// Latchkey and the host both import `express`, as in an app that has not moved to Express 5.
jest.mock('express', () => jest.requireActual('express-4'))

test('this file has Express 4', () => expect('query' in express).toBe(true))

test('the report has no finding for a host on Express 4', async () => {
  const sessions = session({
    secret: 'of the host',
    resave: false,
    saveUninitialized: true,
    cookie: { sameSite: 'lax' },
  })
  const before = [helmet(), express.json(), express.urlencoded({ extended: true }), sessions]
  const report = await attackHost({ before, options: { session: 'host' } })
  expectFindings(report, {})
  expect(report.passed.length).toBeGreaterThan(30)
})
