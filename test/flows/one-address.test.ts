import { admin, connections, secondFactor } from '../../lib/features/index.ts'
import type { SecondFactor } from '../../lib/index.ts'
import { serverBehind } from '../../lib/router.ts'
import { type Clock, stopClock } from '../support/clock.ts'
import { authorizeUrl, callback, type Host, pkce, startHost } from '../support/host.ts'
import { codeOf } from '../support/outcomes.ts'
import { type Answer, RawBrowser, textOf } from '../support/raw-browser.ts'
import { ada, bob, type Person, post } from '../support/tokens.ts'

// Two users share an address, as those of an office do. Each of them has every story once, with the same clients and at the same
// time as the other, step by step. What the pages for administrators say about a user must be that user's own.

let clock: Clock
let host: Host
/** Whose sign-in also needs a code. */
let needsCode: boolean
beforeAll(async () => {
  clock = stopClock()
  const factor: SecondFactor = { kind: 'code', verify: (code) => code === '123456' }
  host = await startHost({
    clients: [],
    options: {
      storedEvents: true,
      features: [
        connections(),
        secondFactor({ find: () => needsCode && factor }),
        admin({ allow: () => 'carol' }),
      ],
    },
  })
})
afterAll(async () => {
  await host.close()
  jest.restoreAllMocks()
})

/** One of the two, and what the page about them must say. */
interface Walker {
  readonly who: Person
  /** Wrong passwords since the last sign-in. */
  wrong: number
  isLocked: boolean
}

const adminPage = async (path: string): Promise<string> => {
  await serverBehind(host.oauth)!.eventLog!.settled()
  return textOf(await new RawBrowser(host.app).get(`/oauth/admin/${path}`))
}

type Step = () => Promise<unknown>
interface Story {
  /** Whether events show whose it is. */
  readonly isKnown: boolean
  /** Absent if nothing may be stored: of two openings at one address within ten minutes only the first is. */
  readonly says?: RegExp
  readonly needsCode?: boolean
  steps(walker: Walker, clientId: string): readonly Step[]
}

/** A browser that does one thing after another. */
const walk = (walker: Walker, clientId: string) => {
  const agent = new RawBrowser(host.app)
  const { who } = walker
  let page: Answer
  const { challenge, verifier } = pkce()
  const proof = { code_challenge: challenge, code_challenge_method: 'S256' }
  const url = authorizeUrl({ client_id: clientId, scope: 'openid notes:read', ...proof })
  return {
    open: async () => {
      page = await agent.open(url)
    },
    fail: async () => {
      page = await agent.signIn(page, who.email, 'wrong')
      walker.wrong += 1
    },
    signIn: async () => {
      page = await agent.signIn(page, who.email, who.password)
      walker.wrong = 0
    },
    password: async () => {
      page = await agent.signIn(page, who.email, who.password)
    },
    code: (code: string) => async () => {
      page = await agent.submit(page, 'name="code"', { code })
      if (code === '123456') walker.wrong = 0
    },
    visit: async () => {
      await agent.signIn(await agent.open('/oauth/account'), who.email, who.password)
      walker.wrong = 0
    },
    decide: (decision: 'allow' | 'deny') => async () => {
      page = await agent.decide(page, decision)
    },
    redeem: async () => {
      const asked = { grant_type: 'authorization_code', code: codeOf(page), redirect_uri: callback }
      const answer = await post(host, { ...asked, client_id: clientId, code_verifier: verifier })
      expect(answer.status).toBe(200)
    },
    lock: async () => {
      walker.isLocked = true
    },
  }
}

const stories: Readonly<Record<string, Story>> = {
  'three wrong passwords': {
    isKnown: false,
    says: /^Stopped at sign-in .* failed 3 times/,
    steps: (walker, client) => {
      const { open, fail } = walk(walker, client)
      return [open, fail, fail, fail]
    },
  },
  'a wrong password, then the right one': {
    isKnown: true,
    says: /^Stopped at the token request/,
    steps: (walker, client) => {
      const { open, fail, signIn, decide } = walk(walker, client)
      return [open, fail, signIn, decide('allow')]
    },
  },
  'left at consent': {
    isKnown: true,
    says: /^Stopped at consent The user signed in, and did not press/,
    steps: (walker, client) => {
      const { open, signIn } = walk(walker, client)
      return [open, signIn]
    },
  },
  'refused at consent': {
    isKnown: true,
    says: /^Stopped at consent The user pressed Cancel/,
    steps: (walker, client) => {
      const { open, signIn, decide } = walk(walker, client)
      return [open, signIn, decide('deny')]
    },
  },
  'went through': {
    isKnown: true,
    says: /^Connected/,
    steps: (walker, client) => {
      const { open, signIn, decide, redeem: exchange } = walk(walker, client)
      return [open, signIn, decide('allow'), exchange]
    },
  },
  'locked out': {
    isKnown: false,
    says: /^Stopped at sign-in .* failed [5-9] times/,
    steps: (walker, client) => {
      const { open, fail, lock } = walk(walker, client)
      return [open, fail, fail, fail, fail, fail, lock]
    },
  },
  'opened the sign-in and left': {
    isKnown: false,
    steps: (walker, client) => [walk(walker, client).open],
  },
  'was signed in, and left at consent': {
    isKnown: true,
    says: /^Stopped at consent The user signed in, and did not press/,
    steps: (walker, client) => {
      const { visit, open } = walk(walker, client)
      return [visit, open]
    },
  },
  'a second factor, and went through': {
    isKnown: true,
    says: /^Connected/,
    needsCode: true,
    steps: (walker, client) => {
      const { open, password, code, decide, redeem: exchange } = walk(walker, client)
      return [open, password, code('000000'), code('123456'), decide('allow'), exchange]
    },
  },
  'a wrong second factor': {
    isKnown: true,
    says: /^Stopped at sign-in .* failed /,
    needsCode: true,
    steps: (walker, client) => {
      const { open, password, code } = walk(walker, client)
      return [open, password, code('000000')]
    },
  },
}

const walkers: readonly Walker[] = [ada, bob].map((who) => ({ who, wrong: 0, isLocked: false }))
/** The stories of both: the second user has the same ones in another order. */
const pairs = [false, true].flatMap((isCoded) => {
  const names = Object.keys(stories).filter((name) => (stories[name]?.needsCode ?? false) === isCoded)
  const turned = (shift: number) => names.map((_, place) => names[(place + shift) % names.length] ?? '')
  const others = turned(isCoded ? 1 : 3)
  return names.map((name, place) => [name, others[place] ?? ''] as const)
})

test('each user has ten stories, and never the same one as the other at that time', () => {
  for (const one of [0, 1]) expect(new Set(pairs.map((pair) => pair[one])).size).toBe(10)
  expect(pairs.filter(([one, other]) => one === other)).toEqual([])
})

test.each(pairs)('ada: %s; bob: %s', async (...names) => {
  clock.travel(7200)
  const { client_id: id } = await host.oauth.clients.create({
    client_name: 'Desk',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
  })
  const told = names.map((name) => stories[name]!)
  needsCode = told[0]?.needsCode ?? false
  for (const walker of walkers) walker.isLocked = false
  const both = told.map((story, place) => story.steps(walkers[place]!, id))
  const longest = Math.max(...both.map(({ length }) => length))
  for (let step = 0; step < longest; step += 1)
    for (const steps of both) {
      clock.travel(1)
      await steps[step]?.()
    }

  const shown = (await adminPage(`connections?client=${id}`))
    .split(/(?=Desk (?:for|Stopped|Connected))/)
    .slice(1)
  const said = (about: string): string[] =>
    shown.flatMap((each) => (each.startsWith(about) ? [each.slice(about.length).trim()] : []))
  const own = walkers.map(({ who }) => said(`Desk for ${who.email}`))
  const unknown = shown.filter((each) => !walkers.some(({ who }) => each.startsWith(`Desk for ${who.email}`)))
  expect(own).toEqual(told.map(({ isKnown, says }) => (isKnown ? [expect.stringMatching(says!)] : [])))
  for (const { isKnown, says } of told)
    if (!isKnown && says)
      expect(unknown.map((each) => each.replace(/^Desk (for an unknown user )?/, ''))).toContainEqual(
        expect.stringMatching(says),
      )
  expect(unknown.length).toBeLessThanOrEqual(told.filter(({ isKnown }) => !isKnown).length)

  for (const { who, wrong, isLocked } of walkers) {
    const page = await adminPage(`users?q=${encodeURIComponent(who.email)}`)
    const counts = /(\d+) wrong passwords? for “([^”]*)”/.exec(page)
    expect(counts && { count: Number(counts[1]), name: counts[2] }).toEqual(
      wrong === 0 ? null : { count: wrong, name: who.email },
    )
    expect(/[Ll]ocked (from|everywhere)/.test(page)).toBe(isLocked)
    for (const other of walkers) if (other.who !== who) expect(page).not.toContain(other.who.email)
  }
})
