import { locationOf, RawBrowser } from './raw-browser.ts'
import { ada } from './tokens.ts'

/**
 * Signs Ada in with the client of README, whose page then shows who she is and her orders.
 *
 * @param client where the client is
 * @param person her browser at the app
 * @returns the JSON of that page
 * @throws Error with the page of Latchkey if it does not lead back to the client
 */
export const ordersShownBy = async (client: string, person: RawBrowser): Promise<unknown> => {
  const shop = new RawBrowser(client, client)
  const request = locationOf(await shop.get('/'))
  const callback = locationOf(await person.grant(request.href, ada.email, ada.password))
  return JSON.parse((await shop.get(callback.href)).html)
}
