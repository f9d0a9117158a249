import { crc32 } from 'node:zlib'
import { randomString } from '../../keys/secrets.ts'

// The form of the tokens of GitHub: a prefix, random letters and digits, and a checksum, so that a scanner recognises a
// leaked token without asking anyone.
// https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 43 characters of 62 have 256 bits. */
const randomLength = 43
const checksumLength = 6

/** CRC-32 in base 62, six digits. */
const checksumOf = (text: string): string => {
  let rest = crc32(text)
  let encoded = ''
  for (let place = 0; place < checksumLength; place += 1) {
    encoded = `${digits[rest % digits.length]}${encoded}`
    rest = Math.floor(rest / digits.length)
  }
  return encoded
}

/**
 * A new personal access token.
 *
 * @param prefix such as `lk_pat_`
 */
export const createPersonalTokenValue = (prefix: string): string => {
  const value = `${prefix}${randomString(digits, randomLength)}`
  return `${value}${checksumOf(value)}`
}

/** Whether a value has the form of a personal access token, with the right checksum; anything else need not be looked up. */
export const isPersonalTokenValue = (prefix: string, value: string): boolean => {
  if (!value.startsWith(prefix) || value.length !== prefix.length + randomLength + checksumLength)
    return false
  const checksum = value.slice(-checksumLength)
  return (
    /^[0-9A-Za-z]+$/.test(value.slice(prefix.length)) &&
    checksumOf(value.slice(0, -checksumLength)) === checksum
  )
}
