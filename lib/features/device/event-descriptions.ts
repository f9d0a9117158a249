import type { EventDescriptions, EventTypesOf } from '../../events/description.ts'

/** Descriptions of the events of devices, for operators. */
export const eventDescriptions: EventDescriptions<EventTypesOf<'device'>> = {
  'device.requested': {
    group: 'consent',
    tone: 'good',
    title: 'Device asked',
    sentence: 'A device asked for access with {client}',
  },
  'device.code_refused': {
    group: 'consent',
    tone: 'bad',
    title: 'Wrong device code',
    sentence: 'A code[ that {user} typed] is of no device',
  },
  'device.authorized': {
    group: 'consent',
    tone: 'good',
    title: 'Device allowed',
    sentence: '{user} allowed a device with {client} at {deviceAddress}',
  },
  'device.denied': {
    group: 'consent',
    tone: 'bad',
    title: 'Device not allowed',
    sentence: 'A device with {client} at {deviceAddress} was not allowed',
  },
}
