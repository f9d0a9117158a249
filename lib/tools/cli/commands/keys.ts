import { setTimeout as delay } from 'node:timers/promises'
import { announcingKeys, secondsUntilRead, withdrawKey } from '../../../keys/key-administration.ts'
import { replaceKeys, rotateKeys } from '../../../keys/key-rotation.ts'
import { freshnessOf, withStates } from '../../../keys/key-schedule.ts'
import { type SigningAlgorithm, signingAlgorithms } from '../../../protocol/clients/client-metadata.ts'
import { listSigningKeys, type SigningKeyRecord } from '../../../storage/repositories/signing-keys.ts'
import { type Command, type CommandContext, type Invocation, UsageError } from '../../command.ts'
import { withProgress } from '../progress.ts'
import { print, printJson, printNote, titledTable } from '../terminal.ts'

const described = (keys: readonly SigningKeyRecord[], now: number) =>
  withStates(keys, now).map(({ kid, algorithm, state, createdAt, activeAt, retiredAt }) => ({
    kid,
    alg: algorithm,
    state,
    published_at: createdAt,
    active_at: activeAt,
    retired_at: retiredAt,
  }))

const time = (seconds: number | null): string =>
  seconds === null ? '' : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

const headings = ['ALG', 'KEY ID', 'STATE', 'SIGNS FROM', 'PUBLISHED UNTIL']

const printKeys = async ({ database, now }: CommandContext, asJson: boolean): Promise<void> => {
  const keys = described(await listSigningKeys(database), now())
  if (asJson) return printJson(keys)
  if (keys.length === 0) return printNote('no keys exist yet; the server creates them when it first starts')
  const rows = keys.map((key) => [key.alg, key.kid, key.state, time(key.active_at), time(key.retired_at)])
  print(...titledTable([headings, ...rows]))
}

/** `latchkey keys list` */
export const listKeysCommand: Command = {
  name: 'keys list',
  summary: 'lists the signing keys with their states',
  details:
    'States: next (published, signs later), signing, verifying (published until its tokens have expired) and\n' +
    'retired (only for ID tokens that come back as a hint). Private keys are never shown.',
  options: { json: { help: 'print JSON' } },
  example: 'latchkey keys list',
  async run(context, invocation) {
    await printKeys(context, invocation.flag('json'))
  },
}

const algorithmsOf = (invocation: Invocation): readonly SigningAlgorithm[] => {
  const given = invocation.text('alg')
  const named = signingAlgorithms.filter((algorithm) => given === undefined || algorithm === given)
  if (named.length === 0) throw new UsageError(`--alg must be one of ${signingAlgorithms.join(', ')}`)
  return named
}

const warningOf = ({ options }: CommandContext): string =>
  'The previous keys are withdrawn: ID tokens signed with them no longer verify and are not accepted as hints.\n' +
  `Each running server reads the keys again before its next answer, if it last read them ${freshnessOf(options.lifetimes).readAfter} or more seconds ago.\n` +
  'Until then it uses the withdrawn keys; ID tokens that it signs with them are refused later.\n' +
  `Clients may cache keys for ${freshnessOf(options.lifetimes).maxAge} seconds or longer. Until they fetch the keys again, they trust the old\n` +
  'ones and may refuse the new ones. If an attacker may have read the database, replace `secrets` first.'

/** `latchkey keys rotate` */
export const rotateKeysCommand: Command = {
  name: 'keys rotate',
  summary: 'creates new signing keys before the old ones are due',
  details:
    'Publishes a new key, which signs after lifetimes.signingKeyLead seconds, so that clients can fetch it first.\n' +
    'If a new key is already published, nothing changes. With --now, for compromised keys, the new key signs at\n' +
    'once and the old ones are withdrawn: clients with cached keys may refuse ID tokens for a while.',
  options: {
    alg: { value: 'ALG', help: `one of ${signingAlgorithms.join(', ')}; all by default` },
    now: { help: 'the current keys are compromised: withdraw them at once' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey keys rotate --alg RS256',
  check: algorithmsOf,
  async run(context, invocation) {
    const { database, events } = context
    const options = announcingKeys(context.options, events)
    const request = { algorithms: algorithmsOf(invocation), now: context.now() }
    if (invocation.flag('now')) {
      for (const { kid, algorithm } of await replaceKeys(database, options, request))
        events.announce('key.revoked', undefined, { keyId: kid, algorithm })
    } else await rotateKeys(database, options, request)
    await printKeys(context, invocation.flag('json'))
    if (invocation.flag('now')) printNote(warningOf(context))
  },
}

/** `latchkey keys revoke` */
export const revokeKeyCommand: Command = {
  name: 'keys revoke',
  summary: 'withdraws one compromised key: what it signed is refused',
  arguments: ['KID'],
  details:
    'The key is no longer published, and ID tokens and JWT access tokens that it signed are refused. If it was the\n' +
    'one that signs, the next key signs at once, or a new one. The command then waits until every running server has\n' +
    'read the keys again. If an attacker may have read the database, replace `secrets` first.',
  options: {
    'no-wait': { help: 'do not wait for the running servers' },
    json: { help: 'print JSON' },
  },
  example: 'latchkey keys revoke 3vXkQtF8dWmYJ0xuH2bRk7sCzNpLqA5eGhVnTjEoUwI',
  async run(context, invocation) {
    const { options } = context
    const [kid = ''] = invocation.arguments
    if ((await withdrawKey(context, kid)) === undefined)
      throw new Error(`no signing key has the id ${kid}; see: latchkey keys list`)
    printNote(`key ${kid} is withdrawn`)
    if (!invocation.flag('no-wait')) {
      const seconds = secondsUntilRead(options.lifetimes)
      printNote(`waiting ${seconds} seconds, until every running server has read the keys again`)
      await withProgress(async (say) => {
        for (let left = seconds; left > 0; left -= 1) {
          say(`${left} s left`)
          await delay(1000)
        }
      })
    }
    await printKeys(context, invocation.flag('json'))
  },
}
