import type { Attack, AttackOutcome } from '../attack.ts'
import { newRequest } from '../flow.ts'
import { described } from '../outcome.ts'

const attacker = 'attacker.example'

/** Headers that anyone can send, and that many apps trust. */
const forgeries: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Host: { host: attacker },
  'X-Forwarded-Host': { 'x-forwarded-host': attacker },
  Forwarded: { forwarded: `host=${attacker};proto=http` },
  'X-Forwarded-Port and -Prefix': { 'x-forwarded-port': '4444', 'x-forwarded-prefix': `//${attacker}` },
  'X-Original-URL': { 'x-original-url': `//${attacker}/`, 'x-rewrite-url': `//${attacker}/` },
}

/** A wrong host could end up in caches, in clients and in redirects. */
export const hostHeader: Attack = {
  name: 'another host in the headers',
  source: 'RFC 8414 §3.3 and §6.2, RFC 9207 §2.4',
  expected: 'unchanged metadata and no link to that host, or a refusal',
  remedy:
    'Do not rewrite bodies or Location headers based on the Host header; Latchkey builds all URLs from the issuer.',
  run: async (target): Promise<AttackOutcome> => {
    const path = target.path('/.well-known/openid-configuration')
    const honest = await target.browser().get(path)
    const deviations: string[] = []
    for (const [name, headers] of Object.entries(forgeries)) {
      const metadata = await target.browser().get(path, headers)
      if (metadata.status < 400 && metadata.body !== honest.body)
        deviations.push(`${name}: the metadata was ${described(metadata)}`)
      const answer = await target.browser().get(newRequest(target).url, headers)
      const { location = '' } = answer.headers
      if (location.includes(attacker) || (answer.status < 400 && answer.body.includes(attacker)))
        deviations.push(`${name}: ${described(answer)}`)
    }
    return deviations
  },
}
