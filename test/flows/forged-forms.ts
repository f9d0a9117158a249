import { expectErrorPage } from '../support/outcomes.ts'
import type { RawBrowser } from '../support/raw-browser.ts'

type Fields = Readonly<Record<string, string>>

/** What another site, or a user who edits the page, sends instead of the form. */
interface ForgedForm {
  readonly fields: Record<string, string>
  readonly headers?: Fields
}

type Forgery = (fields: Fields, agent: RawBrowser) => Promise<ForgedForm>

const crossSite: Fields[] = [
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
  { Origin: 'https://evil.example' },
]

/**
 * Forms that every page must refuse with 403, by name.
 *
 * @param foreign fields of other forms, by what they belong to; a form of the same browser is opened in `agent`
 */
export const forgedForms = (
  foreign: Readonly<Record<string, (agent: RawBrowser) => Promise<Fields>>>,
): [string, Forgery][] => [
  ['without a token', async ({ csrf_token: _, ...fields }) => ({ fields })],
  ['with a wrong token', async (fields) => ({ fields: { ...fields, csrf_token: 'A'.repeat(43) } })],
  ...crossSite.map((headers): [string, Forgery] => [
    `with ${JSON.stringify(headers)}`,
    async (fields) => ({ fields, headers }),
  ]),
  ...Object.entries(foreign).map(([name, form]): [string, Forgery] => [
    `with the token of ${name}`,
    async (fields, agent) => ({ fields: { ...fields, csrf_token: (await form(agent)).csrf_token ?? '' } }),
  ]),
]

/**
 * Sends each forged form, which must be refused.
 *
 * @param path where the form is sent
 * @param open the fields of the form, as its page would send them
 * @param foreign as for {@link forgedForms}
 */
export const expectForgedFormsRefused = async (
  agent: RawBrowser,
  path: string,
  open: () => Promise<Fields>,
  foreign: Parameters<typeof forgedForms>[0],
): Promise<void> => {
  for (const [form, forge] of forgedForms(foreign)) {
    const { fields, headers } = await forge(await open(), agent)
    const answer = await agent.post(path, fields, headers)
    expect({ form, status: answer.status }).toEqual({ form, status: 403 })
    expectErrorPage(answer, 403)
  }
}
