import type { Page } from 'playwright-core'
import { ada } from './tokens.ts'

/** Fills in the sign-in page, or the one that asks for the password again, and lets the next one come; a tab behind another would be slow. */
export const signIn = async (page: Page, { email, password } = ada): Promise<void> => {
  await page.bringToFront()
  if (await page.locator('#username').isEditable()) await page.fill('#username', email)
  await page.fill('#password', password)
  await page.click('#submit')
  await page.waitForLoadState()
}

/** Presses the button of that name. */
export const press = async (page: Page, name: string): Promise<void> => {
  await page.bringToFront()
  await page.getByRole('button', { name, exact: true }).click()
}

/** Waits for the page of that heading. */
export const waitForHeading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
