import { browserSide, still } from '../support/browser-side.ts'
import type { RawBrowser } from '../support/raw-browser.ts'
import { underAttack } from '../support/target.ts'
import { bob } from '../support/tokens.ts'

type Fields = Record<string, string>

/** Of the right length and alphabet. */
const forged = 'A'.repeat(43)

// RFC 6819 §5.1.4.2.3, RFC 9700 §4.13, ASVS 6.3.1: what an attacker may change at will must not start the count anew.
underAttack(
  'passwords that are guessed',
  (target, { mount, test, everyMount }) => {
    const { loginPage, browser, expectNobody } = browserSide(target)
    const guess = async (turn: number, more: { name?: string; agent?: RawBrowser; headers?: Fields }) => {
      const { agent = browser(), name = 'guessed@example.com', headers } = more
      const { fields } = await loginPage({}, agent)
      const form = { ...fields, username: name, password: `guess ${turn}` }
      return agent.post(`${target().base}/login`, form, headers)
    }
    const expectStopped = async (turns: readonly Parameters<typeof guess>[1][]): Promise<void> => {
      const statuses: number[] = []
      for (const [turn, more] of turns.entries()) statuses.push((await guess(turn, more)).status)
      expect(statuses).toEqual([400, 400, 400, 400, 400, 429])
    }
    const six = [1, 2, 3, 4, 5, 6]

    test('with a new browser each time are stopped after five', () => expectStopped(six.map(() => ({}))))

    everyMount(() => {
      test('with a new address in X-Forwarded-For each time are stopped after five', () => {
        // The proxy, where there is one, appends the address that it saw.
        const appended = mount === 'behind a proxy that strips a prefix' ? ', 203.0.113.7' : ''
        const from = (n: number): Fields => ({
          'X-Forwarded-For': `198.51.100.${n}${appended}`,
          'X-Real-IP': `198.51.100.${n}`,
          Forwarded: `for=198.51.100.${n}`,
          'True-Client-IP': `198.51.100.${n}`,
        })
        return expectStopped(six.map((n) => ({ name: 'forwarded@example.com', headers: from(n) })))
      })
    })

    test('with the name written otherwise each time are stopped after five', () => {
      const names = ['spelt@example.com', 'SPELT@example.com', ' spelt@example.com', 'spelt@EXAMPLE.com ']
      return expectStopped([...names, 'ｓpelt@example.com', 'Spelt@Example.Com'].map((name) => ({ name })))
    })

    test('with a cookie that poses as a known browser each time are stopped after five', async () => {
      const known = browser()
      const { page } = await loginPage({}, known)
      await known.signIn(page, bob.email, bob.password)
      const name = [...known.cookies.keys()].find((each) => each.endsWith('_known')) ?? 'missing'
      const ofBob = known.cookies.get(name) ?? ''
      const [nonce = ''] = ofBob.split('.')
      const marks = [
        ofBob,
        `${nonce}.${forged}`,
        `${forged}.${forged}`,
        '~'.repeat(100),
        `${ofBob}~${ofBob}`,
        'x',
      ]
      const agents = marks.map((mark) => {
        const agent = browser()
        agent.cookies.set(name, mark)
        return agent
      })
      await expectStopped(agents.map((agent) => ({ name: 'marked@example.com', agent })))
      await expectNobody(agents[0] ?? browser())
    })
  },
  () => ({ options: { ...still, throttle: { limits: { loginAddress: false } } } }),
)
