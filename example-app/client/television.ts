import * as openid from 'openid-client'
import { renderSVG } from 'uqr'
import { Html } from '../html.ts'
import type { JournalSettings } from './sign-in.ts'

/** What a television shows. */
export type Screen =
  | { show: 'code'; uri: string; userCode: string; qrCode: Html }
  | { show: 'notes'; notes: { title: string; body: string }[] }
  | { show: 'end'; reason: string }

/** A television on which Journal runs. It has no keyboard for a password. */
export interface Television {
  /** What it shows now. */
  screen(): Screen
}

const clientId = 'journal-tv'

/** The provider for televisions, which are public clients: every user can take one apart. */
const discover = ({ issuer }: JournalSettings): Promise<openid.Configuration> =>
  openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
    execute: issuer.startsWith('http://localhost:') ? [openid.allowInsecureRequests] : [],
  })

/** Asks for a code, and polls in the background until its user has decided (RFC 8628). */
export const startTelevision = async (settings: JournalSettings): Promise<Television> => {
  const provider = await discover(settings)
  const codes = await openid.initiateDeviceAuthorization(provider, {
    scope: 'openid offline_access notes:read',
  })
  const complete = codes.verification_uri_complete ?? codes.verification_uri
  let screen: Screen = {
    show: 'code',
    uri: codes.verification_uri,
    userCode: codes.user_code,
    qrCode: new Html(renderSVG(complete)),
  }
  const showNotes = async (): Promise<void> => {
    const tokens = await openid.pollDeviceAuthorizationGrant(provider, codes)
    const api = new URL(settings.notesApi)
    const response = await openid.fetchProtectedResource(provider, tokens.access_token, api, 'GET')
    const { notes } = (await response.json()) as { notes: { title: string; body: string }[] }
    screen = { show: 'notes', notes }
  }
  showNotes().catch((error: unknown) => {
    const isDenied = error instanceof openid.ResponseBodyError && error.error === 'access_denied'
    screen = {
      show: 'end',
      reason: isDenied ? 'You did not let this television in.' : 'The code has expired.',
    }
  })
  return { screen: () => screen }
}
