import { allowedScopes, clientName } from '../../protocol/clients/client.ts'
import { accountModel } from '../../web/endpoints/account/account-pages.ts'
import { clientParameter } from '../../web/endpoints/page-values.ts'
import type { PageContext } from '../../web/http/context.ts'
import type { Endpoint } from '../../web/http/endpoint.ts'
import { ownPath } from '../../web/http/urls.ts'
import type { DeveloperOption } from './option.ts'
import { clientPath, developerPage, findOwnClient } from './page.ts'
import { snippetsFor } from './snippets.ts'

/** Code that signs people in with a client. */
export const snippetPath = '/developer/code'

/** The field with the name of the library. */
const libraryField = 'library'

/** Code for one client, in the library that the developer chooses. */
export const snippetPage = (option: DeveloperOption): Endpoint<PageContext> =>
  developerPage(option, {
    path: snippetPath,
    fields: ['client_id', libraryField],
    async show(context, query) {
      const { server, language, person } = context
      const { client } = await findOwnClient(context, query)
      const { clientId, metadata } = client
      const isPublic = metadata.token_endpoint_auth_method === 'none'
      const known = snippetsFor({ isPublic })
      const asked = query.optional(libraryField)
      const chosen = known.find(({ library }) => library === asked) ?? known[0]
      const [redirectUri = ''] = metadata.redirect_uris
      const about = clientParameter(clientId)
      context.send('developer-code', {
        ...(await accountModel(context, person.user, 'developer')),
        client: { name: clientName(client, language) },
        libraries: known.map(({ library }) => ({
          library,
          url: ownPath(server, snippetPath, { ...about, [libraryField]: library }),
          isCurrent: library === chosen?.library,
        })),
        install: `npm install ${chosen?.packages.join(' ')}`,
        code: chosen?.code({
          issuer: server.issuer,
          clientId,
          redirectUri,
          scopes: allowedScopes(client),
          isPublic,
        }),
        isPublic,
        clientUrl: ownPath(server, clientPath, about),
      })
    },
  })
