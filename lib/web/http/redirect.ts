import type { Incoming } from './context.ts'
import { send } from './send.ts'
import { frontEndLocation } from './urls.ts'

type Redirected = Pick<Incoming, 'server' | 'res' | 'answer'>

/** Redirects with 303, so that the browser continues by GET after any method. A front end of the host learns where to. */
export const sendRedirect = ({ res, answer }: Redirected, location: string): void => {
  if (answer) {
    answer({ redirectTo: location })
    return
  }
  // Browsers obey it on every hop: with the header of an app-wide helmet, a popup would lose its opener.
  res.removeHeader('Cross-Origin-Opener-Policy')
  send(res, 303, { Location: location, 'Cache-Control': 'no-store' }, '')
}

/**
 * Redirects to one of our pages, or to the host's front end or login page. If a redirect has no fragment, the browser keeps that of the
 * request. A link to `/authorize?…#id` could then put the focus on a button of the page at the end.
 */
export const redirectToPage = (incoming: Redirected, location: string): void => {
  const { server, answer } = incoming
  const shown = frontEndLocation(server, location) ?? location
  if (answer) answer({ redirectTo: shown })
  else sendRedirect(incoming, shown.includes('#') ? shown : `${shown}#_`)
}
