import { scopeWords } from '../../oauth/authorization/consent-scopes.ts'
import { thingsName } from '../../oauth/choices/consent-things.ts'
import { findThings } from '../../oauth/choices/things.ts'
import { askedKinds, chosenOf } from '../../protocol/choices.ts'
import { allowedScopes, clientName, usesSecret } from '../../protocol/clients/client.ts'
import { isAmong } from '../../protocol/requests/organization.ts'
import { findOrganizations } from '../../users/users.ts'
import type { OrganizationPage } from '../../web/endpoints/organization-page.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import type { ActResult } from '../../web/endpoints/signed-page.ts'
import { redirectToPage } from '../../web/http/redirect.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { markOfSecret, removeAccount, replaceSecret, revokeSecret } from './accounts.ts'
import type { AccountAct, AccountNotice, AccountThings } from './declarations.ts'
import type { ServiceAccountOption } from './option.ts'
import {
  type AccountPageContext,
  about,
  accountField,
  accountPath,
  accountsPath,
  accountUrl,
  changeBy,
  changerOf,
  confirmPath,
  editPath,
  findOwnAccount,
  type OwnAccount,
  section,
  toAccount,
} from './page.ts'
import { type AccountSecret, listAccountSecrets } from './table.ts'

const notices: readonly AccountNotice[] = ['created', 'saved', 'replaced', 'revoked']

/** The username of who made an account; undefined if that person is gone, or no longer in the organization. */
const creatorOf = async (
  { server, person }: AccountPageContext,
  { row: { createdBy } }: OwnAccount,
): Promise<string | undefined> => {
  const user = createdBy ? await server.users.find(createdBy) : undefined
  if (user === undefined) return undefined
  const organizations = await findOrganizations(server.options.organizations, user)
  return isAmong(organizations ?? [], person.organization.id) ? user.username : undefined
}

/** The things that an account is for, with the names of those that this administrator may see. */
const thingsOf = async (
  { server, person, language }: AccountPageContext,
  { client, owner }: OwnAccount,
): Promise<readonly AccountThings[]> => {
  const things: AccountThings[] = []
  const asked = { user: person.user, client, organization: person.organization.id }
  for (const kind of askedKinds(server.options.choices, allowedScopes(client))) {
    const chosen = chosenOf(owner.choices ?? {}, kind.kind) ?? []
    const found = chosen === 'all' ? [] : await findThings(kind, asked, chosen)
    const names = found.map(({ name }) => name)
    things.push({ name: thingsName(kind, language), isAll: chosen === 'all', names })
  }
  return things
}

/** One service account. */
export const serviceAccountPage: OrganizationPage = {
  path: accountPath,
  section,
  fields: [accountField],
  async show(context, query) {
    const { server, person, language, notice } = context
    const own = await findOwnAccount(context, query)
    const { row, client, owner } = own
    const { clientId, metadata } = client
    const now = server.now()
    const hasSecret = usesSecret(metadata)
    const creator = await creatorOf(context, own)
    const confirmUrl = (act: AccountAct): string => accountUrl(server, confirmPath, row, { act })
    const shownSecret = ({ isCurrent, createdAt, lastUsedAt, until }: AccountSecret) => ({
      isCurrent,
      ...(createdAt !== null && { since: iso(createdAt) }),
      ...(lastUsedAt !== null && { lastUsed: iso(lastUsedAt) }),
      ...(until !== null && { until: iso(until) }),
      revokeUrl: confirmUrl(isCurrent ? 'revoke' : 'revoke-previous'),
    })
    const said = noticeOf(notice, notices)
    context.send('service-account', {
      ...(await person.header()),
      name: clientName(client, language),
      clientId,
      issuer: server.issuer,
      scopes: allowedScopes(client).map((scope) => scopeWords(server, scope, language)),
      things: await thingsOf(context, own),
      since: iso(row.createdAt),
      ...(creator !== undefined && { creator }),
      isOrphaned: creator === undefined && row.createdBy !== '',
      until: iso(owner.until),
      isExpired: owner.until <= now,
      isDisabled: client.disabledAt !== null,
      ...(row.lastUsedAt !== null && { lastUsed: iso(row.lastUsedAt) }),
      ...(hasSecret && {
        secrets: (await listAccountSecrets(server.database, { clientId, now })).map(shownSecret),
        replaceUrl: confirmUrl('replace'),
      }),
      ...(notice?.secret !== undefined && { secret: notice.secret }),
      ...(said && { notice: said }),
      editUrl: accountUrl(server, editPath, row),
      removeUrl: confirmUrl('remove'),
    })
  },
}

/** Names the act that a page asks about. */
const actField = 'act'
/** Stands for the secret that the page is about. */
const seenField = 'seen'

const questions: readonly AccountAct[] = ['replace', 'revoke', 'revoke-previous', 'remove']

/** The act that the URL or form names, if the account can have it. */
const actOf = ({ client }: OwnAccount, name: string | undefined): AccountAct | undefined =>
  questions.find((act) => act === name && (act === 'remove' || usesSecret(client.metadata)))

const currentMark = async ({ server }: AccountPageContext, { client }: OwnAccount): Promise<string> => {
  const secrets = await listAccountSecrets(server.database, { clientId: client.clientId, now: server.now() })
  return markOfSecret(secrets.find(({ isCurrent }) => isCurrent)?.hash)
}

/** Asks whether to do something with an account, and does it. */
export const confirmAccountPage = (option: ServiceAccountOption): OrganizationPage => ({
  path: confirmPath,
  section,
  fields: [accountField, actField, seenField],
  async show(context, query) {
    const { server, language } = context
    const own = await findOwnAccount(context, query)
    const act = actOf(own, query.optional(actField))
    if (act === undefined) return redirectToPage(context, accountUrl(server, accountPath, own.row))
    const seen = await currentMark(context, own)
    context.send('service-account-confirm', {
      ...context.form({ ...about(own.row), [actField]: act, [seenField]: seen }, 'confirm'),
      act,
      name: clientName(own.client, language),
      cancelUrl: accountUrl(server, accountPath, own.row),
    })
  },
  acts: {
    async confirm(context, form): Promise<ActResult | undefined> {
      const { server, person } = context
      const own = await findOwnAccount(context, form)
      const named = own.row
      const organization = person.organization.id
      const act = actOf(own, form.optional(actField))
      const by = changerOf(context)
      const changing = await changeBy(context, option)
      const signedOut = { path: accountPath, query: about(named) }
      if (act === 'remove') {
        const removed = await removeAccount(changing, named, by)
        if (removed === 'signed-out') return signedOut
        return { path: accountsPath, query: { organization }, notice: { kind: 'removed' } }
      }
      const seen = form.optional(seenField) ?? ''
      if (act === 'replace') {
        const made = await replaceSecret(changing, named, by, { seen })
        if (made === 'signed-out') return signedOut
        if (made !== 'stale') return toAccount(named, 'replaced', made.secret)
      } else if (act !== undefined) {
        const which = act === 'revoke' ? 'current' : 'previous'
        const revoked = await revokeSecret(changing, named, which, by, seen)
        if (revoked === 'signed-out') return signedOut
        if (revoked === 'revoked') return toAccount(named, 'revoked')
      }
      // Another request was first, and may have left a secret for the page.
      redirectToPage(context, accountUrl(server, accountPath, named))
      return undefined
    },
  },
})
