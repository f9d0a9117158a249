import { prepareSchema } from '../authorization-server.ts'
import { replaceKeys, rotateKeys } from '../keys/key-rotation.ts'
import { freshnessOf, stateOf } from '../keys/key-schedule.ts'
import { type SigningAlgorithm, signingAlgorithms } from '../protocol/client-metadata.ts'
import { listSigningKeys, type SigningKeyRecord } from '../repositories/signing-keys.ts'
import { type Command, type CommandContext, type Invocation, UsageError } from './command.ts'
import { heading, note, print, table } from './terminal.ts'

const now = (): number => Math.floor(Date.now() / 1000)

const described = (keys: readonly SigningKeyRecord[]) =>
  keys.map((key) => ({
    kid: key.kid,
    alg: key.algorithm,
    state: stateOf(
      key,
      keys.filter((other) => other.algorithm === key.algorithm),
      now(),
    ),
    published_at: key.createdAt,
    active_at: key.activeAt,
    retired_at: key.retiredAt,
  }))

const time = (seconds: number | null): string =>
  seconds === null ? '' : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

const headings = ['ALG', 'KEY ID', 'STATE', 'SIGNS FROM', 'PUBLISHED UNTIL']

const printKeys = async ({ database }: CommandContext, asJson: boolean): Promise<void> => {
  const keys = described(await listSigningKeys(database))
  if (asJson) return print(JSON.stringify(keys, null, 2))
  if (keys.length === 0) return note('no keys yet; the server creates them at its first start')
  const rows = keys.map((key) => [key.alg, key.kid, key.state, time(key.active_at), time(key.retired_at)])
  const [title = '', ...lines] = table([headings, ...rows]).split('\n')
  print([heading(title), ...lines].join('\n'))
}

/** `latchkey keys list` */
export const listKeysCommand: Command = {
  name: 'keys list',
  summary: 'lists the signing keys and their state',
  details:
    'next: published, will sign later · signing · verifying: no longer signs, published until its tokens expire ·\n' +
    'retired: only recognises ID tokens that come back as a hint. Private keys are never shown.',
  options: { json: { type: 'boolean', help: 'print JSON' } },
  example: 'latchkey keys list',
  async run(context, invocation) {
    await prepareSchema(context.options, context.database)
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
  'The previous keys are withdrawn: ID tokens signed with them no longer verify and are refused as hints.\n' +
  `Running servers change over within ${freshnessOf(options.lifetimes).readAfter} seconds of traffic; ID tokens that they sign until then are refused as well.\n` +
  `Clients may cache the previous keys for ${freshnessOf(options.lifetimes).maxAge} seconds, some for longer. Until they fetch the keys\n` +
  'again they accept the old keys, and some refuse the new ones. If an attacker read the database, replace `secrets` first.'

/** `latchkey keys rotate` */
export const rotateKeysCommand: Command = {
  name: 'keys rotate',
  summary: 'starts a key rotation early',
  details:
    'A new key is published now and signs after lifetimes.signingKeyLead seconds, so that clients can fetch it.\n' +
    'If a new key is already waiting, nothing changes. With --now, for keys that may be compromised, the new key\n' +
    'signs at once and the old ones are withdrawn: clients that cache keys may refuse ID tokens for a while.',
  options: {
    alg: { type: 'string', value: 'ALG', help: `one of ${signingAlgorithms.join(', ')}; all by default` },
    now: { type: 'boolean', help: 'withdraw the previous keys at once, because they may be compromised' },
    json: { type: 'boolean', help: 'print JSON' },
  },
  example: 'latchkey keys rotate --alg RS256',
  check: algorithmsOf,
  async run(context, invocation) {
    const { database, options } = context
    const request = { algorithms: algorithmsOf(invocation), now: now() }
    await prepareSchema(options, database)
    if (invocation.flag('now')) await replaceKeys(database, options, request)
    else await rotateKeys(database, options, request)
    await printKeys(context, invocation.flag('json'))
    if (invocation.flag('now')) note(warningOf(context))
  },
}
