import type { AuthorizationServer } from '../../oauth/authorization-server.ts'
import { sizes } from '../../protocol/lengths.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import { iso } from '../../web/endpoints/page-values.ts'
import { accountPage, type SignedContext, type SignedInUser } from '../../web/endpoints/signed-page.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { ownPath } from '../../web/http/urls.ts'
import { bindBrowser } from '../../web/sessions/browser-binding.ts'
import { noticeOf } from '../../web/sessions/notice.ts'
import { addPasskey, maxPasskeys, passkeyCreation, removeOnePasskey } from './add.ts'
import type { PasskeyCard, PasskeysNotice } from './declarations.ts'
import type { PasskeyOption } from './option.ts'
import { type Passkey, passkeyName } from './rules.ts'
import { listPasskeys, renamePasskey } from './table.ts'

/** The list of a user's passkeys. */
export const passkeysPath = '/account/passkeys'
const maxTypedName = 255

const cardOf = (
  server: AuthorizationServer,
  { hash, name, createdAt, lastUsedAt }: Passkey,
): PasskeyCard => ({
  name,
  created: iso(createdAt),
  ...(lastUsedAt !== null && { lastUsed: iso(lastUsedAt) }),
  url: ownPath(server, passkeysPath, { id: hash }),
})

const kinds: readonly PasskeysNotice[] = ['not-added', 'renamed', 'removed']

const showPasskeys = async (
  context: SignedContext<SignedInUser>,
  option: PasskeyOption,
  known: readonly Passkey[],
): Promise<void> => {
  const { server, person } = context
  const options = passkeyCreation(server, option, person.user, known, bindBrowser(context))
  context.send('passkeys', {
    ...context.form({}, 'add'),
    ...(await accountModel(context, person.user, 'passkeys')),
    passkeys: known.map((passkey) => cardOf(server, passkey)),
    options,
    max: maxPasskeys,
    notice: noticeOf(context.notice, kinds),
  })
}

const showPasskey = (context: SignedContext<SignedInUser>, passkey: Passkey): void => {
  const { server, person } = context
  context.send('passkey', {
    ...context.form({ id: passkey.hash }),
    passkey: cardOf(server, passkey),
    username: person.user.username,
    isNew: context.notice?.kind === 'added',
    cancelUrl: ownPath(server, passkeysPath),
  })
}

/** The list of a user's passkeys; with `id` the page that renames or removes one. */
export const passkeysPage = (option: PasskeyOption): Endpoint<PageContext> =>
  accountPage({
    path: passkeysPath,
    fields: ['id'],
    // An abandoned session would get a passkey that outlasts it.
    recent: 600,
    changesSignIn: true,
    async show(context, query) {
      const known = await listPasskeys(context.server.database, { subject: context.person.id })
      const id = query.optional('id')
      const passkey = known.find(({ hash }) => hash === id)
      if (passkey) showPasskey(context, passkey)
      else await showPasskeys(context, option, known)
    },
    // The list shows that a passkey is gone.
    acts: {
      async add(context, form) {
        const response = form.verbatim('passkey', sizes.pageForm) ?? ''
        const { user, login } = context.person
        const userAgent = context.req.get('user-agent')
        const { language } = context
        const added = { user, login, browser: bindBrowser(context), response, userAgent, language }
        const hash = await addPasskey(context, option, added)
        // Its page asks for a name.
        return hash === undefined
          ? { notice: { kind: 'not-added' } }
          : { query: { id: hash }, notice: { kind: 'added' } }
      },
      async rename({ server, person }, form) {
        const name = passkeyName(form.optional('name', maxTypedName)) ?? ''
        const renamed = { hash: form.required('id'), subject: person.id, name }
        return (await renamePasskey(server.database, renamed)) ? { notice: { kind: 'renamed' } } : {}
      },
      async remove({ server, person, info }, form) {
        const passkey = { hash: form.required('id'), subject: person.id }
        return (await removeOnePasskey(server, passkey, { info })) ? { notice: { kind: 'removed' } } : {}
      },
    },
  })
