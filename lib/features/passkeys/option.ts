export type { Passkeys as PasskeyOption } from '../../options/passkey-options.ts'
