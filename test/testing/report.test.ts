import { inspect } from 'node:util'
import express, { type RequestHandler } from 'express'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import type { AttackReport } from '../../lib/tools/testing/index.ts'
import { reportOf } from '../../lib/tools/testing/report.ts'
import { attackHost, rewritingHeaders } from '../support/attacked-host.ts'

const findings = [
  {
    attack: 'responses that a cache would store',
    expected: 'Cache-Control: no-store',
    actual: 'the login page: none\nthe consent page: none',
    source: 'RFC 6749 §5.1',
    remedy: 'Set no Cache-Control.',
  },
]

test('as a string it shows the expected and the actual result, the section and the remedy', () => {
  const report = reportOf({ findings, passed: ['x', 'y'], skipped: [{ attack: 'z', why: 'it is off' }] })
  expect(String(report)).toBe(
    [
      '1 finding; 2 attacks failed as they should; 1 skipped',
      '',
      '1. responses that a cache would store',
      '   expected  Cache-Control: no-store',
      '   actual    the login page: none',
      '             the consent page: none',
      '   source    RFC 6749 §5.1',
      '   remedy    Set no Cache-Control.',
      '',
      'skipped: z: it is off',
    ].join('\n'),
  )
})

test('two that found the same are equal, so that an assertion compares nothing but findings', () => {
  const fields = { findings, passed: [], skipped: [] }
  expect(reportOf(fields)).toEqual(reportOf({ ...fields }))
  expect(Object.keys(reportOf(fields))).toEqual(['findings', 'passed', 'skipped'])
})

describe('a report of a host in which much is wrong', () => {
  let report: AttackReport
  beforeAll(async () => {
    const loose: RequestHandler = (req, _res, next) => {
      if (req.method === 'HEAD') req.method = 'GET'
      if (req.is('json')) req.headers['content-type'] = 'application/x-www-form-urlencoded'
      next()
    }
    const caching = rewritingHeaders((headers) => void headers.set('cache-control', 'public'))
    const noticed = attacks.filter(({ name }) => /HEAD|parser|as JSON|cache|code used/.test(name))
    report = await attackHost({ before: [express.json(), loose, caching] }, noticed)
  })

  test('holds no token, code, id of a request, secret or password', () => {
    const text = `${report}${inspect(report.findings, { depth: 5 })}`
    expect(report.findings.length).toBeGreaterThan(2)
    // There would have been something to hide.
    for (const known of ['lk_ac_…', 'lk_at_…', 'lk_rt_…']) expect(text).toContain(known)
    expect(text).not.toMatch(/lk_[a-z]{2}_[\w-]|eyJ[\w-]{8}|a-client-secret|ada’s password/)
  })

  test('has one finding for each attack, with every field filled in', () => {
    const names = report.findings.map(({ attack }) => attack)
    expect(new Set(names).size).toBe(names.length)
    for (const finding of report.findings) {
      for (const field of ['attack', 'expected', 'actual', 'source', 'remedy'] as const) {
        expect(finding[field]).toMatch(/\S/)
      }
      expect(finding.actual.split('\n').length).toBeLessThanOrEqual(7)
    }
  })
})
