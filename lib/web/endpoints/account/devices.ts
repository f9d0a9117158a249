import { loginWays } from '../../../oauth/authorization/login-location.ts'
import { inLanguage } from '../../../protocol/clients/client-metadata-languages.ts'
import {
  clientsOfLogins,
  type Device,
  endDevice,
  endOtherDevices,
  findEndedDevice,
  listDevices,
} from '../../../users/account/devices.ts'
import { ownPath } from '../../http/urls.ts'
import type { DevicesDone } from '../../pages/device-models.ts'
import { clientParameter, iso } from '../page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../signed-page.ts'
import { accountModel } from './account-pages.ts'

type Context = SignedContext<SignedInUser>

const path = '/account/devices'
/** Names every device but this one. */
const others = 'others'

/** The apps that were signed in to under these logins, with the page on which the user can remove each. */
const appsOf = async ({ server, language }: Context, sids: readonly string[]) =>
  (await clientsOfLogins(server, sids)).map(({ clientId, metadata }) => ({
    name: inLanguage(metadata, 'client_name', language) ?? clientId,
    url: ownPath(server, '/account', clientParameter(clientId)),
  }))

/** The logins that were just ended, and the advice to the user. */
const doneOf = async (context: Context): Promise<DevicesDone | undefined> => {
  const { server, person, notice } = context
  if (notice?.kind === others) return { kind: others }
  if (notice?.kind !== 'ended' || notice.about === undefined) return undefined
  const ended = await findEndedDevice(server, person.id, notice.about)
  if (ended === undefined) return undefined
  const { sids, ...device } = ended
  const { links } = loginWays(server, ownPath(server, path), person.user.username)
  return { kind: 'ended', device, apps: await appsOf(context, sids), forgotPassword: links?.forgotPassword }
}

const showList = async (context: Context, devices: readonly Device[]): Promise<void> => {
  const { server, person } = context
  context.send('devices', {
    ...(await accountModel(context, person.user, 'devices')),
    devices: devices.map(({ browser, system, sid, isHere, since, lastUsed }) => ({
      browser,
      system,
      isHere,
      since: iso(since),
      lastUsed: iso(lastUsed),
      ...(!isHere && { removeUrl: ownPath(server, path, { device: sid }) }),
    })),
    ...(devices.some(({ isHere }) => !isHere) && {
      others: { url: ownPath(server, path, { device: others }) },
    }),
    done: await doneOf(context),
  })
}

/** Asks whether to end the logins of one device, or of all others. */
const showEnding = async (
  context: Context,
  about: string,
  devices: readonly [Device, ...Device[]],
): Promise<void> => {
  const { server, person } = context
  const { browser, system, since, lastUsed } = devices[0]
  context.send('end-device', {
    ...context.form({ device: about }, about === others ? 'end-others' : 'end'),
    ...(about !== others && { device: { browser, system, since: iso(since), lastUsed: iso(lastUsed) } }),
    count: devices.length,
    apps: await appsOf(
      context,
      devices.flatMap(({ sids }) => sids),
    ),
    isAtHost: devices.some(({ isAtHost }) => isAtHost),
    username: person.user.username,
    cancelUrl: ownPath(server, path),
  })
}

/** Where the user is signed in; with `device` the page that asks whether to end that. */
export const devicesEndpoint = accountPage({
  path,
  fields: ['device'],
  async show(context, query) {
    const { server, person } = context
    const about = query.optional('device')
    const devices = await listDevices(server, person.login)
    const [first, ...more] = devices.filter(
      ({ sid, isHere }) => !isHere && (about === others || about === sid),
    )
    if (about !== undefined && first) await showEnding(context, about, [first, ...more])
    else await showList(context, devices)
  },
  acts: {
    async end({ server, person, info }, form) {
      const about = form.required('device')
      const device = (await listDevices(server, person.login)).find(
        ({ sids, isHere }) => !isHere && sids.includes(about),
      )
      if (device) await endDevice(server, person.id, device, info)
      return { notice: { kind: 'ended', about } }
    },
    async 'end-others'({ server, person, info }) {
      await endOtherDevices(server, person.login, info)
      return { notice: { kind: others } }
    },
  },
})
