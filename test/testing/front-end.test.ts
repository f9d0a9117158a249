// `attack()` against a host with a front end of its own: the page of docs/front-end.md.

import type { RequestHandler } from 'express'
import { attacks } from '../../lib/tools/testing/attacks/index.ts'
import { type AttackedHost, attackHost, expectFindings } from '../support/attacked-host.ts'
import { reactFrontEnd } from '../support/front-end.ts'

const headless = (...before: RequestHandler[]): AttackedHost => ({
  options: { pages: { url: '/sign-in' } },
  before: [...before, ...reactFrontEnd()],
  told: { frontEnd: '/sign-in' },
})

/** A host that "repairs" every form: it keeps the token that the browser was last shown, and adds it to what is posted. */
const addsToken = (): RequestHandler => {
  const shown = new Map<string, string>()
  return (req, res, next) => {
    const { pathname, searchParams } = new URL(req.url, 'http://localhost')
    if (pathname !== '/oauth/interaction') return next()
    const key = String(searchParams.get('authorization_request'))
    const { end } = res
    res.end = ((body: unknown, ...rest: unknown[]) => {
      const [, token] = /"csrf_token":"([^"]+)"/.exec(String(body)) ?? []
      if (token) shown.set(`${key} ${searchParams.get('step')}`, token)
      return Reflect.apply(end, res, [body, ...rest])
    }) as typeof end
    if (req.method !== 'POST') return next()
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
      req.body = { ...form, csrf_token: shown.get(`${key} ${searchParams.get('step')}`) }
      next()
    })
  }
}

test('finds nothing in the example', async () => {
  const report = await attackHost(headless())
  expectFindings(report, {})
  expect(report.passed).toContain('the consent form, forged')
  expect(report.passed).toContain('the sign-in form, forged')
  expect(report.passed).toContain('guessing passwords')
})

const named = (...names: string[]) => attacks.filter(({ name }) => names.includes(name))

test('finds a host that decides without the token of the page', async () => {
  const report = await attackHost(headless(addsToken()), named('the consent form, forged'))
  expectFindings(report, { 'the consent form, forged': /without a token: 303 Location: https:\/\/client/ })
})

test('finds a page that other sites can put into a frame, and answers that they can read', async () => {
  const exposed: RequestHandler = (req, res, next) => {
    if (req.path === '/oauth/interaction') res.setHeader('Access-Control-Allow-Origin', '*')
    const { setHeader } = res
    if (req.path === '/sign-in')
      res.setHeader = ((name: string, value: string) =>
        /frame|content-security/i.test(name)
          ? res
          : Reflect.apply(setHeader, res, [name, value])) as typeof setHeader
    next()
  }
  const tried = named(
    'the pages in a frame of another site',
    'scripts of other origins with the user’s cookies',
  )
  expectFindings(await attackHost(headless(exposed), tried), {
    'the pages in a frame of another site': /the login page/,
    'scripts of other origins with the user’s cookies': /interaction/,
  })
})
