import type { Attack } from '../attack.ts'
import type { Sent } from '../browser.ts'
import { isSignedIn, newRequest } from '../flow.ts'
import { formWith } from '../html.ts'
import { described, isRefused, wrongAnswers } from '../outcome.ts'
import { newCode, proof, redemption } from '../tokens.ts'
import type { Answer } from '../wire.ts'

const formType = 'application/x-www-form-urlencoded'

/** A parser before the router could turn another content type into a form. */
const bodies: Attack = {
  name: 'bodies that a parser before the router could misread',
  source: 'RFC 6749 §3.2 and appendix B, RFC 9700 §4.7',
  expected: 'only forms are accepted, and no parameter is repeated',
  remedy:
    'Mount the router before your body parsers, or use express.urlencoded() and express.json() with their own types only.',
  run: async (target) => {
    const { headers, fields: proving } = proof(target.credentials)
    const fields = { ...proving, ...redemption(await newCode(target, target.signedIn())) }
    const form = new URLSearchParams(fields).toString()
    const posted = (body: string, type: string, more: Sent['headers'] = headers): Promise<Answer> =>
      target
        .browser()
        .send('POST', target.path('/token'), { body, headers: { ...more, 'content-type': type } })
    const { client_id, client_secret } = target.options.client
    const attempts = {
      'as JSON': await posted(JSON.stringify(fields), 'application/json'),
      'as JSON with the credentials in it': await posted(
        JSON.stringify({ ...fields, client_id, client_secret }),
        'application/json',
        {},
      ),
      'as text': await posted(form, 'text/plain'),
      'with the code twice': await posted(`${form}&code=${fields.code}`, formType),
      'with two grant types': await posted(`${form}&grant_type=client_credentials`, formType),
      'with brackets': await posted(form.replace('code=', 'code[]='), formType),
    }
    return wrongAnswers(attempts, isRefused)
  },
}

const login: Attack = {
  name: 'a sign-in as JSON',
  source: 'RFC 9700 §4.7, OWASP ASVS 5 §3.5.1',
  expected: 'refused with a status of 400 to 499',
  remedy: bodies.remedy,
  run: async (target) => {
    if (target.options.login) return { skipped: 'the login page is the host’s own' }
    const browser = target.browser()
    const page = await browser.open(newRequest(target).url)
    const form = formWith(page.body, { username: '', password: '' })
    const answer = await browser.send('POST', target.path('/login'), {
      body: JSON.stringify({ ...form?.fields, ...target.options.user }),
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    })
    const deviations = isRefused(answer) ? [] : [described(answer)]
    return (await isSignedIn(target, browser)) ? [...deviations, 'the browser is signed in'] : deviations
  },
}

export const requestBodyAttacks = [bodies, login]
