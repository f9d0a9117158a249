import { featureNamed } from '../../options/features.ts'
import { type Check, error, type Found, type MountedSubject, warning } from '../../tools/check.ts'

/** A stranger has neither a session nor a cookie, so an administrator's page must not open. */
const findings = async ({ mount, options }: MountedSubject): Promise<Found> => {
  if (mount.discovery.status !== 200 || !featureNamed(options, 'admin')) return undefined
  const { status } = await mount.get('/admin')
  return (
    status === 200 &&
    (options.production ? error : warning)(
      'the admin pages open without a login, so anyone can register clients that need no consent',
      "features: [admin({ allow: ({ req }) => req.session.user?.role === 'admin' && String(req.session.user.id) })]",
    )
  )
}

/** Whether the function of the host lets everyone in. */
export const adminCheck: Check<MountedSubject> = {
  id: 'admin',
  title: 'the admin pages need a login',
  run: findings,
}
