import { type ClientAdministration, clientAdministration } from '../../clients/administration.ts'
import { maxClientForm } from '../../clients/client-form.ts'
import type { OperatorContext, OperatorPage } from '../../endpoints/operator-page.ts'
import type { PageContext } from '../../http/context.ts'
import type { Endpoint } from '../../http/route.ts'
import { sendPage } from '../../http/send-page.ts'
import { ownPath } from '../../http/urls.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { callHost } from '../../users/host-function.ts'
import type { AdminOption } from './option.ts'

/** UTF-16 code units of an actor in events. */
const maxActor = 255

/** The pages of one area: who may open them, and which there are. */
interface Area {
  readonly option: AdminOption
  readonly pages: readonly OperatorPage[]
}

/**
 * Asks the host whether this request may use the admin pages.
 *
 * @throws OAuthError `access_denied` with status 403 unless the host allows it · TypeError if it returns something else
 */
const admitted = async (
  context: PageContext,
  { option, pages }: Area,
  { section }: OperatorPage,
): Promise<OperatorContext> => {
  const { server, req } = context
  const answer: unknown = await callHost('features.admin.allow', () => option.allow({ req }))
  const isId = typeof answer === 'string' && answer !== ''
  if (!isId && answer !== true) {
    // Such as a user object: a mistake, which must not let anyone in.
    if (answer) throw new TypeError('latchkey: features.admin.allow must return true, false or a string')
    const explanation = { expected: 'true, or the id of an administrator', received: String(answer) }
    throw new OAuthError('access_denied', 'the option features.admin refused this request', {
      status: 403,
      explanation,
    })
  }
  const firstPages = pages.filter((page, index) => page.section !== pages[index - 1]?.section)
  return {
    ...context,
    actor: isId ? answer.slice(0, maxActor) : undefined,
    sections: firstPages.map((page) => ({
      kind: page.section,
      url: ownPath(server, page.path),
      isCurrent: page.section === section,
    })),
    clientUrl: (clientId) => ownPath(server, '/admin/client', { client_id: clientId }),
    userUrl: (subject) => ownPath(server, '/admin/users', { q: subject }),
    language: 'en',
    send: (page, model, options) => sendPage(context, 'en', page, model, options),
  }
}

/** Serves pages for operators. Each of their handlers runs only after the host has allowed the request. */
export const adminArea = (
  option: AdminOption,
  pages: readonly OperatorPage[],
): readonly Endpoint<PageContext>[] => {
  const guarded =
    (page: OperatorPage, handle: NonNullable<OperatorPage['GET']>) => async (context: PageContext) =>
      handle(await admitted(context, { option, pages }, page))
  return pages.map((page) => ({
    path: page.path,
    maxForm: maxClientForm,
    methods: {
      ...(page.GET && { GET: guarded(page, page.GET) }),
      ...(page.POST && { POST: guarded(page, page.POST) }),
    },
  }))
}

/** The clients, administered in the name of this administrator. */
export const clientsFor = ({ server, actor, info }: OperatorContext): ClientAdministration =>
  clientAdministration({ ...server, logos: server, by: { actor, info } })
