import { djangoOauthToolkit } from './django-oauth-toolkit.ts'
import { doorkeeper } from './doorkeeper.ts'
import type { Peer } from './imported.ts'
import { oauth2Server } from './oauth2-server.ts'
import { oidcProvider } from './oidc-provider.ts'
import { passport } from './passport.ts'

/** Every server from which clients can be imported. */
export const peers: readonly Peer[] = [doorkeeper, djangoOauthToolkit, passport, oidcProvider, oauth2Server]
