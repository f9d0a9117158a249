import Bowser from 'bowser'

/** The name by which people know a device. */
export interface DeviceName {
  /** Such as `Chrome`. */
  readonly browser?: string
  /** The system or, of an iPhone or iPad, the device: such as `macOS`. */
  readonly system?: string
}

const browsers: readonly string[] = Object.values(Bowser.BROWSER_MAP)
const systems: readonly string[] = Object.values(Bowser.OS_MAP)
/** Devices that people know better than their system. */
const models = ['iPhone', 'iPad']

/**
 * Names the browser and the system of a header `User-Agent`. Anyone can write anything there, so only names that are known are
 * returned, and none of the header's own words.
 *
 * @example deviceName('Mozilla/5.0 (Macintosh; …) Chrome/130.0.0.0 Safari/537.36') // { browser: 'Chrome', system: 'macOS' }
 */
export const deviceName = (userAgent: string | undefined): DeviceName => {
  if (!userAgent) return {}
  const { browser, os, platform } = Bowser.parse(userAgent)
  const { name = '' } = browser
  const system = models.find((model) => model === platform.model) ?? os.name ?? ''
  return {
    ...(browsers.includes(name) && { browser: name }),
    ...((models.includes(system) || systems.includes(system)) && { system }),
  }
}
