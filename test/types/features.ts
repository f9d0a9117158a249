/** What features add to interfaces of the core, such as lib/features/device/kind.ts: the published declarations have it, too. */
import { authRouter, type RevocationReason } from 'latchkey'

const oauth = authRouter()
oauth.events.on('device.authorized', ({ deviceAddress, organization = '' }) => {
  const both: string = deviceAddress + organization
  console.info(both)
})
const reason: RevocationReason = 'device_code_replayed'
// @ts-expect-error: no such parameter works once
const unknown: RevocationReason = 'state_replayed'
console.info(reason, unknown)
