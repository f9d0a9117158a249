export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** The characters of a user code (RFC 8628 §6.1): no vowels, so that no code is a word, and none that look alike. */
export const userCodeAlphabet = 'BCDFGHJKLMNPQRSTVWXZ'

/** Of twenty characters: 34.5 bits. */
export const userCodeLength = 8

/** @example formatUserCode('WDJBMJHT') // 'WDJB-MJHT' */
export const formatUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

const wellFormed = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/

/**
 * Reads a user code as people type it: in any case, with or without the hyphen, with spaces, or in the wide characters
 * of an East Asian keyboard (RFC 8628 §6.1).
 *
 * @returns the eight letters; undefined if it cannot be a code
 * @example parseUserCode(' wdjb mjht') // 'WDJBMJHT'
 */
export const parseUserCode = (typed: string): string | undefined => {
  const letters = typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
  return wellFormed.test(letters) ? letters : undefined
}

/** What a pending request knows about the device that it is for. */
export interface OpenedDevice {
  /** Hash of the device code. */
  readonly hash: string
  /** The user code, encrypted for the browser in which it was typed. */
  readonly sealedUserCode: string
  /** The IP address of the device. */
  readonly address: string
  /** When the device asked, in epoch seconds. */
  readonly createdAt: number
  readonly expiresAt: number
}
