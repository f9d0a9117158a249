import type { Preset } from '../map.ts'
import { djangoOauthToolkit } from './django-oauth-toolkit.ts'
import { doorkeeper } from './doorkeeper.ts'
import { oauth2Server } from './oauth2-server.ts'
import { oidcProvider } from './oidc-provider.ts'
import { passport } from './passport.ts'

/** Every server from which clients can be imported without a map. */
export const presets: readonly Preset[] = [
  doorkeeper,
  djangoOauthToolkit,
  passport,
  oidcProvider,
  oauth2Server,
]
