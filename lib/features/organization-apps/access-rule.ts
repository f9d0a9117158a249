import { isUnverified } from '../../oauth/authorization/consent.ts'
import type { AccessRule, RuleAnswer } from '../../oauth/tokens/access-rules.ts'
import { findRequestOf } from './requests-table.ts'
import { appOf, isApp, ruleFor, withinLimit } from './rules.ts'
import { findAppRules } from './rules-table.ts'

/** The page on which a member reads that an app is blocked, or asks for it. */
export const askPath = '/organization/ask'

/** A decision of an administrator about an app holds for each member of the organization, from the next use on. */
export const appRule: AccessRule = {
  async judge(server, { client, subject, organization, scopes }): Promise<RuleAnswer | undefined> {
    if (organization === undefined || subject === undefined || !isApp(client)) return undefined
    const { database } = server
    const app = appOf(client)
    const rule = ruleFor(
      await findAppRules(database, { organization, app }),
      app,
      isUnverified(server, client),
    )
    if (rule === undefined) return undefined
    const { outcome, words, most } = rule
    const asked = { organization, app, subject, now: server.now() }
    const mayUse =
      outcome === 'allowed' ||
      (outcome === 'ask' && (await findRequestOf(database, asked))?.status === 'approved')
    if (!mayUse) return { outcome: 'denied', reason: words, page: askPath }
    return most === undefined ? undefined : { outcome: 'capped', scopes: withinLimit(server, scopes, most) }
  },
}
