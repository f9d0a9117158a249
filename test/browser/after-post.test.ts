import type { RequestHandler } from 'express'
import expressSession from 'express-session'
import { Secret, TOTP } from 'otpauth'
import type { Page, Request } from 'playwright-core'
import {
  admin,
  authenticatorApps,
  developers,
  device,
  passkeys,
  personalAccessTokens,
  secondFactor,
} from '../../lib/features/index.ts'
import { newPage } from '../support/browser.ts'
import { signIn } from '../support/browser-person.ts'
import { codesFor, deviceClients } from '../support/device.ts'
import { clients, people } from '../support/host.ts'
import { sampleOf } from '../support/sample.ts'
import { describeWith } from '../support/services.ts'
import { type Heard, heardOn } from './accessibility-tree.ts'
import { useBrowserApp } from './app.ts'

const [ada, bob] = people as [Person, Person]

type Person = (typeof people)[number]

/** A page that opens from its start, without a message. */
const opens = (title: string): Heard => ({ title: `${title} · Latchkey`, focus: '', messages: [] })
/** What was done, which has the focus and is the title. */
const says = (words: string): Heard => ({
  title: `${words.replace(/\.$/, '')} · Latchkey`,
  focus: `status: ${words}`,
  messages: [`status: ${words}`],
})
/** What went wrong, which has the focus unless the field to correct has it. A `status` tells what to do again. */
const fails = (title: string, words: string, focus: string = 'alert'): Heard => {
  const role = focus === 'status' ? 'status' : 'alert'
  return {
    title: `Error: ${title} · Latchkey`,
    focus: focus === role ? `${role}: ${words}` : focus,
    messages: [`${role}: ${words}`],
  }
}

const hostSession = (): RequestHandler =>
  expressSession({ secret: 'of the host', resave: false, saveUninitialized: false })
/** Pages are complete without scripts, in either session: they say the same, and lead to the same. */
const modes = [
  ['with scripts', { javaScriptEnabled: true, session: 'own', before: [] }],
  [
    'without scripts, in a session of Latchkey’s own',
    { javaScriptEnabled: false, session: 'own', before: [] },
  ],
  [
    'without scripts, in the session of the host',
    { javaScriptEnabled: false, session: 'host', before: [hostSession()] },
  ],
] as const

/** A passkey that was added elsewhere. */
const stored = {
  hash: 'x'.repeat(43),
  subject: '1',
  credential_id: 'AAAA',
  public_key: 'AAAA',
  counter: 0,
  transports: '',
  name: 'Key',
  backed_up: 0,
  // After a sign-in with a password, which else would have to use it.
  created_at: Math.floor(Date.now() / 1000) + 3600,
}
/** An authenticator that unlocks whenever it is asked. */
const virtualDevice = {
  protocol: 'ctap2',
  transport: 'internal',
  automaticPresenceSimulation: true,
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
} as const
const spoilAnswer = `document.addEventListener('formdata', ({ formData }) => formData.set('passkey', '{}'))`

/** Does one thing that sends a form, and lets the page that answers it open. */
type Step = readonly [what: string, act: (page: Page) => Promise<unknown>, heard: Heard]

const press = (selector: string) => (page: Page) => page.locator(selector).first().click()
const open = (path: string, selector: string) => async (page: Page) => {
  await page.goto(new URL(`/oauth${path}`, page.url()).href)
  await press(selector)(page)
}
/** Fills fields and presses the button of their form. */
const send =
  (fields: Readonly<Record<string, string>>, button = 'button.primary:not([hidden])') =>
  async (page: Page): Promise<void> => {
    for (const [selector, value] of Object.entries(fields)) await page.fill(selector, value)
    await press(button)(page)
  }

/**
 * Waits for the first frame, with which the focus is set, by taking a picture. Without scripts the page cannot say when that
 * is. While the page changes, the browser may refuse the first picture.
 */
const firstFrame = (page: Page): Promise<Buffer> => {
  const picture = () => page.screenshot({ clip: { x: 0, y: 0, width: 1, height: 1 } })
  return picture().catch(picture)
}

const walk = async (page: Page, steps: readonly Step[]): Promise<void> => {
  const heard: [string, Heard][] = []
  for (const [what, act] of steps) {
    const isPost = (request: Request): boolean => request.method() === 'POST'
    const answered = page.waitForRequest(isPost).then(() => page.waitForEvent('load'))
    await Promise.all([answered, act(page)])
    await firstFrame(page)
    heard.push([what, await heardOn(page)])
  }
  expect(heard).toEqual(steps.map(([what, , expected]) => [what, expected]))
}

const wrongCode = (title: string): Heard =>
  fails(title, 'Wrong code Check the code and enter it again. Each code works once.', 'textbox: Code')

describeWith('chromium', 'what a screen reader is told after a form was sent', () => {
  describe.each(sampleOf(modes, 1))('%s', (_, { javaScriptEnabled, session, before }) => {
    const app = useBrowserApp({
      clients: [...clients, ...deviceClients],
      before,
      options: {
        session,
        storedEvents: true,
        features: [
          authenticatorApps(),
          passkeys(),
          personalAccessTokens(),
          device(),
          developers({ allow: () => 'approval' }),
          admin({ allow: ({ req }) => req.get('x-admin') ?? false }),
        ],
      },
    })
    const rename = (client_name: string): Promise<unknown> =>
      app.host.oauth.clients.update('web', { client_name })
    /** Codes may be used again, which saves half a minute for each. */
    const forgetCodes = async (): Promise<void> => {
      await app.host.table('second_factors').update({ last_step: 0 })
      await app.host.table('replays').delete()
    }
    beforeEach(async () => {
      await rename('Web client')
      const all = 'consents authorizations second_factors recovery_codes replays throttles passkeys'
      for (const name of all.split(' ')) await app.host.table(name).delete()
    })

    const visit = (run: (page: Page) => Promise<void>): Promise<void> =>
      app.visit(run, { javaScriptEnabled, extraHTTPHeaders: { 'x-admin': 'carol' } })

    /** The script sends a code with its last digit. */
    const enter = (code: string) => (page: Page) =>
      javaScriptEnabled ? page.fill('#code', code) : send({ '#code': code })(page)

    test('of sign-in, consent and the end of the session', () =>
      visit(async (page) => {
        await page.goto(app.url({ prompt: 'consent' }))
        await walk(page, [
          [
            'a wrong password',
            send({ '#username': ada.email, '#password': 'mistyped' }),
            fails('Sign in', 'Wrong email or password Try again.', 'textbox: Password'),
          ],
          ['the right password', send({ '#password': ada.password }), opens('Web client wants access')],
          [
            'allowing what has changed meanwhile',
            async (each) => {
              await rename('Web shop')
              await press('[value=allow]')(each)
            },
            fails(
              'Web shop wants access',
              'This page has changed since you opened it. Check and allow again.',
              'status',
            ),
          ],
          [
            'allowing after another user has signed in',
            async (each) => {
              const tab = await each.context().newPage()
              await tab.goto(app.url({ prompt: 'select_account' }))
              await tab.click('[value=another]')
              await signIn(tab, bob)
              await tab.close()
              await press('[value=allow]')(each)
            },
            fails(
              'Web shop wants access',
              `You’re now signed in as ${bob.email}. Check and allow again.`,
              'status',
            ),
          ],
          ['another user', press('[value=switch]'), { ...opens('Sign in'), focus: 'textbox: Email' }],
        ])
        await page.goto(app.url({ prompt: 'select_account' }))
        await walk(page, [['the same account', press('[value=continue]'), opens('Web shop wants access')]])
        await page.goto(app.url({ prompt: 'select_account' }))
        await walk(page, [
          ['another account', press('[value=another]'), { ...opens('Sign in'), focus: 'textbox: Email' }],
        ])
        await page.goto(`${app.origin}/oauth/logout`)
        await walk(page, [['signing out', press('form button'), opens('You’re signed out')]])
      }))

    test('of connected apps and devices', () =>
      visit(async (page) => {
        await page.goto(app.url())
        await signIn(page)
        await app.toClient(page, () => page.click('[value=allow]'))
        await page.goto(`${app.origin}/oauth/account`)
        await press('a[href*=client_id]')(page)
        await walk(page, [
          [
            'removing an app',
            press('form button'),
            says('Access removed. Web client can no longer use your account.'),
          ],
        ])
        const other = await newPage(app.browser)
        await other.goto(`${app.origin}/oauth/account/devices`)
        await signIn(other)
        await other.context().close()
        await walk(page, [
          [
            'ending another device',
            async (each) => {
              await open('/account/devices', 'a[href*="device="]')(each)
              await press('form button')(each)
            },
            says('Chrome on Linux is signed out.'),
          ],
        ])
      }))

    test('of two-step sign-in', () =>
      visit(async (page) => {
        await page.goto(`${app.origin}/oauth/account/second-factor`)
        await signIn(page)
        const secret = Secret.fromBase32(
          String(await page.locator('#secret').textContent()).replaceAll(' ', ''),
        )
        const code = (step: number): string =>
          new TOTP({ secret }).generate({ timestamp: Date.now() + step * 30_000 })
        await walk(page, [
          ['a wrong code', send({ '#code': '000000' }, '[value=confirm]'), wrongCode('Two-step sign-in')],
          [
            'the right code',
            send({ '#code': code(0) }, '[value=confirm]'),
            opens('Save your recovery codes'),
          ],
          ['the codes are saved', press('form button.primary'), says('Two-step sign-in is on.')],
          ['new codes', send({ '#code': code(1) }, '[value=renew]'), opens('Save your recovery codes')],
        ])
        await forgetCodes()
        await page.context().clearCookies()
        await page.goto(app.url({ prompt: 'consent' }))
        const asked = { ...opens('Enter your code'), focus: 'textbox: Code' }
        await walk(page, [
          ['the password', send({ '#username': ada.email, '#password': ada.password }), asked],
          ['a wrong code', enter('000000'), wrongCode('Enter your code')],
          ['the right code', enter(code(0)), opens('Web client wants access')],
        ])
        await forgetCodes()
        await page.goto(`${app.origin}/oauth/account/second-factor`)
        await walk(page, [
          ['turning it off', send({ '#code': code(1) }, '[value=remove]'), says('Two-step sign-in is off.')],
        ])
      }))

    test('of access tokens', () =>
      visit(async (page) => {
        await page.goto(`${app.origin}/oauth/account/tokens/new`)
        await signIn(page)
        await walk(page, [
          [
            'no permission is chosen',
            send({ 'input[type=text]': 'Backup' }),
            fails('New token', 'Check what you entered Choose at least one permission.'),
          ],
          [
            'one is',
            async (each) => {
              await each.locator('[type=checkbox]').first().check()
              await send({})(each)
            },
            {
              title: 'Your new token “Backup” · Latchkey',
              focus: 'region: Your new token “Backup”',
              messages: [],
            },
          ],
          [
            'revoking it',
            async (each) => {
              await open('/account/tokens', 'ul.rows a.button')(each)
              await press('form button')(each)
            },
            says('The token no longer works.'),
          ],
        ])
      }))

    if (javaScriptEnabled)
      test('of passkeys', () =>
        visit(async (page) => {
          await page.goto(`${app.origin}/oauth/account/passkeys`)
          const session = await page.context().newCDPSession(page)
          await session.send('WebAuthn.enable')
          await session.send('WebAuthn.addVirtualAuthenticator', { options: virtualDevice })
          await signIn(page)
          await walk(page, [
            [
              'adding one with an answer that is spoiled',
              async (each) => {
                await each.evaluate(spoilAnswer)
                await each.getByRole('button', { name: 'Add a passkey' }).click()
              },
              fails('Passkeys', 'The passkey wasn’t added. Please try again.', 'status'),
            ],
          ])
          await session.send('WebAuthn.disable')
          await session.send('WebAuthn.enable')
          await session.send('WebAuthn.addVirtualAuthenticator', { options: virtualDevice })
          await walk(page, [
            [
              'adding one',
              (each) => each.getByRole('button', { name: 'Add a passkey' }).click(),
              says('Passkey added. You can sign in with it from now on.'),
            ],
            ['naming it', send({ '#name': 'Phone' }), says('Name changed.')],
            [
              'removing it',
              async (each) => {
                await each.getByRole('link', { name: 'Phone' }).click()
                await press('[value=remove]')(each)
              },
              says('Passkey removed. It no longer works here.'),
            ],
          ])
        }))

    if (!javaScriptEnabled)
      test('of passkeys that there are', () =>
        visit(async (page) => {
          await page.goto(`${app.origin}/oauth/account/passkeys`)
          expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0)
          await signIn(page)
          await app.host.table('passkeys').insert(stored)
          await page.reload()
          expect(await page.textContent('#no-passkey')).toContain('turn on JavaScript')
          expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0)
          await walk(page, [
            [
              'naming one',
              async (each) => {
                await press('.clients a')(each)
                await send({ '#name': 'Phone' })(each)
              },
              says('Name changed.'),
            ],
            [
              'removing it',
              async (each) => {
                await each.getByRole('link', { name: 'Phone' }).click()
                await press('[value=remove]')(each)
              },
              says('Passkey removed. It no longer works here.'),
            ],
          ])
        }))

    test('of a device', () =>
      visit(async (page) => {
        const { user_code } = await codesFor(app.host)
        await page.goto(`${app.origin}/oauth/device`)
        await walk(page, [
          [
            'a wrong code',
            send({ '#user-code': 'BBBB-BBBB' }),
            fails(
              'Connect a device',
              'This code is wrong or has expired Check the code on your device and enter it again.',
              'textbox: Code',
            ),
          ],
          [
            'the right code',
            send({ '#user-code': user_code }),
            { ...opens('Sign in'), focus: 'textbox: Email' },
          ],
          [
            'signing in',
            send({ '#username': ada.email, '#password': ada.password }),
            opens('Is this your device?'),
          ],
          [
            'it is mine',
            (each) => each.getByRole('button', { name: 'Yes, continue' }).click(),
            opens('Television wants access'),
          ],
          ['allowing it', press('[value=allow]'), opens('Your device is connected')],
        ])
      }))

    test('of the pages for developers', () =>
      visit(async (page) => {
        await page.goto(`${app.origin}/oauth/developer/new`)
        await signIn(page)
        const uris = '#field-redirect_uris'
        await walk(page, [
          [
            'a wrong redirect URI',
            send({ '#field-client_name': 'Order Desk', [uris]: 'http://desk.example.com/' }),
            fails('Register an app', 'Check what you entered Redirect URIs'),
          ],
          [
            'the right one',
            send({ [uris]: 'https://desk.example.com/callback' }),
            says('Sent to Latchkey for approval.'),
          ],
          [
            'a new secret',
            async (each) => {
              await press('#rotate')(each)
              await press('form button.primary, form button.danger')(each)
            },
            says('Your app has a new secret.'),
          ],
          [
            'a change',
            async (each) => {
              await press('a[href*=edit]')(each)
              await send({ '#field-client_name': 'Order Desks' })(each)
            },
            says('Sent to Latchkey for approval.'),
          ],
          [
            'a change of what has changed meanwhile',
            async (each) => {
              await press('a[href*=edit]')(each)
              await app.host.table('client_owners').increment('revision')
              await send({ '#field-client_name': 'Order Table' })(each)
            },
            fails(
              'Change Order Desks',
              'This app has changed since you opened this form. Check your entries and save again.',
              'status',
            ),
          ],
          [
            'deleting it',
            async (each) => {
              await page.goto(new URL('/oauth/developer', page.url()).href)
              await press('.own-client a')(each)
              await press('#delete')(each)
              await press('form button.danger')(each)
            },
            says('The app is deleted.'),
          ],
        ])
      }))

    test('of the pages for admins', () =>
      visit(async (page) => {
        await page.goto(`${app.origin}/oauth/developer/new`)
        await signIn(page)
        await send({
          '#field-client_name': 'Order Desk',
          '#field-redirect_uris': 'https://desk.example.com/callback',
        })(page)
        await page.goto(`${app.origin}/oauth/admin/clients`)
        await page.fill('#q', 'native')
        await press('.find button')(page)
        await page.getByText('Native client').waitFor()
        expect(await page.getByText('Web client').count()).toBe(0)
        await page.goto(`${app.origin}/oauth/admin/new-client`)
        const uris = '#field-redirect_uris'
        await walk(page, [
          [
            'a wrong redirect URI',
            send({
              '#field-client_id': 'typed',
              '#field-client_name': 'Typed',
              [uris]: 'https://typed.example/#x',
            }),
            fails('Register a client', 'Check what you entered redirect_uri must not have a fragment'),
          ],
          [
            'the right one',
            send({ [uris]: 'https://typed.example/callback' }),
            says('The client is registered.'),
          ],
          ['a change', send({ '#field-client_name': 'Retyped' }), says('Your changes are saved.')],
          [
            'a change of what has changed meanwhile',
            async (each) => {
              await app.host.oauth.clients.update('typed', { contacts: ['desk@typed.example'] })
              await send({ '#field-client_name': 'Typed again' })(each)
            },
            fails(
              'Retyped',
              'Nothing was saved: the client was changed in the meantime. The page shows it as it is now.',
              'status',
            ),
          ],
          [
            'a new secret',
            press('button:has-text("Create a new secret")'),
            says('The client has a new secret.'),
          ],
          [
            'disabling it',
            async (each) => {
              await press('#disable')(each)
              await press('form button.danger')(each)
            },
            says('The client is disabled. It is refused, and so are all its tokens.'),
          ],
          ['enabling it', press('button:has-text("Enable")'), says('The client is enabled.')],
          [
            'deleting it',
            async (each) => {
              await press('#delete')(each)
              await press('form button.danger')(each)
            },
            says('The client Retyped is deleted.'),
          ],
          [
            'approving a request that has changed meanwhile',
            async (each) => {
              await open('/admin/requests', 'a[href*="request?"]')(each)
              await app.host.table('client_owners').increment('revision')
              await press('button:has-text("Approve")')(each)
            },
            fails(
              'Requests',
              'Nothing was done: the request was changed or decided in the meantime. The page shows those that wait now.',
              'status',
            ),
          ],
          [
            'approving a request',
            async (each) => {
              await open('/admin/requests', 'a[href*="request?"]')(each)
              await press('button:has-text("Approve")')(each)
            },
            says('The request is approved.'),
          ],
          [
            'publishing keys',
            async (each) => {
              await open('/admin/keys', '#publish')(each)
              await press('form button.danger, form button.primary')(each)
            },
            says('The next keys are published.'),
          ],
          [
            'ending a device’s session',
            open('/admin/users?subject=1', 'button:has-text("End")'),
            says('The login has ended.'),
          ],
          [
            'ending everything',
            async (each) => {
              await open('/admin/users?subject=1', '#end-all')(each)
              await press('form button.danger')(each)
            },
            says('All logins, codes and tokens of this user have ended.'),
          ],
        ])
      }))
  })
})

describeWith('chromium', 'what a screen reader is told of a code that the host sends', () => {
  const app = useBrowserApp({
    options: {
      acrValues: ['password', 'mfa'],
      login: {
        acr: 'password',
      },
      features: [
        secondFactor({
          find: () => ({
            kind: 'code',
            verify: (code) => code === '123456',
            send: () => {},
            acr: 'mfa',
          }),
        }),
      ],
    },
  })

  test('and sends again', () =>
    app.visit(async (page) => {
      await page.goto(app.url({ prompt: 'consent' }))
      const asked = { ...opens('Enter your code'), focus: 'textbox: Code' }
      await walk(page, [
        ['the password', send({ '#username': ada.email, '#password': ada.password }), asked],
        [
          'another code',
          async (each) => {
            // The script lets half a minute pass before it, and looks every second whether it is over.
            await each.evaluate(`{
              const again = document.querySelector('[name=send]')
              again.disabled = false
              again.click()
            }`)
          },
          { ...says('We’ve sent you another code.'), focus: 'textbox: Code' },
        ],
        ['a wrong code', send({ '#code': '000000' }), wrongCode('Enter your code')],
        ['the right code', send({ '#code': '123456' }), opens('Web client wants access')],
      ])
    }))
})
