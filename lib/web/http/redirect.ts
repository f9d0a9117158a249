import type { Incoming } from './context.ts'

/** Sends the browser to a client. */
export const sendRedirect = (incoming: Incoming, location: string): void =>
  incoming.deliver(incoming, { redirectTo: location })

/** Sends the browser to one of our pages, or to the host's front end or login page. */
export const redirectToPage = (incoming: Incoming, location: string): void =>
  incoming.deliver(incoming, { redirectToPage: location })
