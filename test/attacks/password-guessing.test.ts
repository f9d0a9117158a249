import { browserSide, still } from '../support/browser-side.ts'
import type { RawBrowser } from '../support/raw-browser.ts'
import { underAttack } from '../support/target.ts'
import { bob } from '../support/tokens.ts'

/** Of the right length and alphabet. */
const forged = 'A'.repeat(43)

// RFC 6819 §5.1.4.2.3, RFC 9700 §4.13, ASVS 6.3.1: what an attacker may change at will must not start the count anew.
// `latchkey/testing` guesses with new browsers and with forged addresses, in every mount.
underAttack(
  'passwords that are guessed',
  (target) => {
    const { loginPage, browser, expectNobody } = browserSide(target)
    const guess = async (
      turn: number,
      { name = '', agent = browser() }: { name?: string; agent?: RawBrowser },
    ) => {
      const { fields } = await loginPage({}, agent)
      const form = { ...fields, username: name, password: `guess ${turn}` }
      return agent.follow(await agent.post(`${target().base}/login`, form))
    }
    const expectStopped = async (turns: readonly Parameters<typeof guess>[1][]): Promise<void> => {
      const statuses: number[] = []
      for (const [turn, more] of turns.entries()) statuses.push((await guess(turn, more)).status)
      expect(statuses).toEqual([400, 400, 400, 400, 400, 429])
    }

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
      const made = [`${nonce}.${forged}`, `${forged}.${forged}`, '~'.repeat(100), 'x']
      const marks = [ofBob, `${ofBob}~${ofBob}`, ...made]
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
