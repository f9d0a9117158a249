import {
  acts,
  as,
  eachWithHost,
  events,
  host,
  metadataOf,
  pathTo,
  signedIn,
  stored,
  textOf,
  withAdministrators,
} from '../support/administrators.ts'
import { stopClock } from '../support/clock.ts'
import { callback } from '../support/host.ts'
import { expectErrorPage } from '../support/outcomes.ts'
import { type Answer, fieldsOf, formOf, RawBrowser } from '../support/raw-browser.ts'
import { countStatements } from '../support/statement-count.ts'
import { post, userinfo, web } from '../support/tokens.ts'

withAdministrators()

describe('clients', () => {
  eachWithHost()

  test('are registered with the values of the form; the secret is shown once', async () => {
    const carol = as('carol')
    const page = await carol.get('/oauth/admin/new-client')
    const fields = {
      ...{
        client_id: 'new',
        client_name: 'New <b>',
        redirect_uris: `${callback}\r\n\r\n com.example.app:/cb `,
      },
      ...{ scope: ' openid  email ', 'grant_types:client_credentials': 'on', first_party: 'on' },
      other: '{ "default_max_age": 60 }',
    }
    const created = await carol.submit(page, 'value="create"', fields)
    expect(created.url.href).toBe(`http://localhost:3000${pathTo('new')}#_`)
    expect(created.html).toContain('The client is registered.')
    const [, secret = ''] = /id="client-secret"[^>]*>([^<]+)</.exec(created.html) ?? []
    const { status } = await post(host, {
      grant_type: 'client_credentials',
      client_id: 'new',
      client_secret: secret,
    })
    expect(status).toBe(200)
    expect(await metadataOf('new')).toMatchObject({
      ...{ client_name: 'New <b>', redirect_uris: [callback, 'com.example.app:/cb'], scope: 'openid email' },
      ...{ grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], first_party: true },
      ...{ require_pkce: false, default_max_age: 60 },
    })
    const again = await carol.get(pathTo('new'))
    expect(again.html).not.toContain(secret)
    expect(again.html).not.toContain('The client is registered.')
    expect(again.html).toContain('New &lt;b&gt;')
    expect(acts()).toEqual([['client.created', { clientId: 'new', actor: 'carol' }]])
    expect(JSON.stringify(events)).not.toContain(secret)
  })

  const refusals: Record<string, [fields: Record<string, string>, field: string, error: string]> = {
    'a fragment': [
      { redirect_uris: 'https://a.example/#x' },
      'redirect_uris',
      'redirect_uri must not have a fragment',
    ],
    'no redirect URI': [
      { redirect_uris: '' },
      'redirect_uris',
      'redirect_uris is required with the grant types authorization_code and implicit',
    ],
    'an unknown scope': [{ scope: 'opendi' }, 'scope', 'scope: opendi'],
    'a taken id': [{ client_id: 'web' }, 'client_id', 'client_id: web is already registered'],
    'no URL': [{ policy_uri: 'privacy' }, 'policy_uri', 'policy_uri must be an https URL'],
    'no JSON': [{ other: '{' }, 'other', 'other must be JSON'],
    'a list': [{ other: '[]' }, 'other', 'other must be an object'],
    'a member that has a field': [
      { other: '{"scope":"openid"}' },
      'other',
      'other must not contain scope, which has a field above',
    ],
    'a secret': [
      { other: `{"client_secret":"${'s'.repeat(40)}"}` },
      'other',
      'other must not contain client_secret, which is not client metadata',
    ],
    'an internal member': [
      { other: '{"self_described":"document"}' },
      'other',
      'other must not contain self_described, which is not client metadata',
    ],
    'a member of the wrong type': [
      { other: '{"default_max_age":"1"}' },
      'other',
      'default_max_age must be a whole number of seconds',
    ],
    'an unknown method': [
      { token_endpoint_auth_method: 'magic' },
      'token_endpoint_auth_method',
      'token_endpoint_auth_method must be one of',
    ],
  }
  test.each(Object.entries(refusals))(
    '%s is refused beside its field, and the form keeps what was typed',
    async (_, entry) => {
      const [wrong, field, error] = entry
      const carol = as('carol')
      const page = await carol.get('/oauth/admin/new-client')
      const before = await stored()
      const fields = { client_id: 'typed', client_name: 'Typed', redirect_uris: callback, ...wrong }
      const refused = await carol.submit(page, 'value="create"', fields)
      expect(refused.status).toBe(400)
      const [, said = ''] =
        new RegExp(`id="field-${field}-error"><bdi lang="en">([^<]+)<`).exec(refused.html) ?? []
      expect(said.replaceAll('&#39;', "'").replaceAll('&quot;', '"')).toContain(error)
      expect(fieldsOf(refused, 'value="create"')).toMatchObject(fields)
      expect(await stored()).toEqual(before)
      // The form can be corrected at once.
      const corrected = { client_id: 'typed', redirect_uris: callback, scope: '', policy_uri: '', other: '' }
      const saved = await carol.submit(refused, 'value="create"', {
        ...corrected,
        token_endpoint_auth_method: 'none',
      })
      expect(saved.html).toContain('The client is registered.')
      expect(saved.html).not.toContain('client-secret')
    },
  )

  test('are changed to the values of the form, and members without a field to those of its JSON', async () => {
    await host.oauth.clients.update('web', {
      default_max_age: 60,
      'client_name#de': 'Netz',
      contacts: ['a@b.example'],
    })
    const before = await metadataOf('web')
    const carol = as('carol')
    const page = await carol.get(pathTo('web'))
    // Unchanged, it changes nothing.
    await carol.submit(page, 'value="save"')
    expect(await metadataOf('web')).toEqual(before)
    const shown = await carol.get(pathTo('web'))
    const { default_max_age: _, ...other } = JSON.parse(fieldsOf(shown, 'value="save"').other ?? '')
    const fields = {
      client_name: 'Shop',
      contacts: '',
      other: JSON.stringify({ ...other, tls_client_certificate_bound_access_tokens: false }),
    }
    const saved = await carol.submit(shown, 'value="save"', fields)
    expect(saved.html).toContain('Your changes are saved.')
    const { default_max_age: __, contacts: ___, ...kept } = before!
    expect(await metadataOf('web')).toEqual({
      ...{ ...kept, client_name: 'Shop', tls_client_certificate_bound_access_tokens: false },
    })
    expect(acts()).toEqual(Array(2).fill(['client.updated', { clientId: 'web', actor: 'carol' }]))
  })

  test('a form that was opened before another change overwrites nothing, and is refused with a notice', async () => {
    const [carol, dave] = [as('carol'), as('dave')]
    const [hers, his] = [await carol.get(pathTo('web')), await dave.get(pathTo('web'))]
    await carol.submit(hers, 'value="save"', { client_name: 'Hers' })
    const stale = await dave.submit(his, 'value="save"', { client_name: 'His' })
    expect(stale.html).toContain('Nothing was saved')
    expect(fieldsOf(stale, 'value="save"').client_name).toBe('Hers')
    expect(await metadataOf('web')).toMatchObject({ client_name: 'Hers' })
    await dave.submit(stale, 'value="save"', { client_name: 'His' })
    expect(await metadataOf('web')).toMatchObject({ client_name: 'His' })
  })

  test('get a new secret, which only its administrator sees, once; the previous one works for a day', async () => {
    const clock = stopClock()
    const carol = as('carol')
    const form = formOf((await carol.get(pathTo('web'))).html, 'value="rotate"')
    const answer = await carol.post(form.action, form.fields)
    expect(answer.status).toBe(303)
    expect(answer.location?.href).toBe(`http://localhost:3000${pathTo('web')}#_`)
    const dave = new RawBrowser(host.app, undefined, { 'x-admin': 'dave' }, carol.cookies)
    expect((await dave.get(pathTo('web'))).html).not.toContain('id="client-secret"')
    expect((await carol.send('HEAD', pathTo('web'))).setCookies).toEqual([])
    const page = await carol.get(pathTo('web'))
    const [, secret = ''] = /id="client-secret"[^>]*>([^<]+)</.exec(page.html) ?? []
    expect(page.headers['cache-control']).toBe('no-store')
    expect((await carol.get(pathTo('web'))).html).not.toContain(secret)
    for (const sent of [...answer.setCookies, answer.location?.href]) expect(sent).not.toContain(secret)
    const withSecret = async (client_secret: string) =>
      (await post(host, { grant_type: 'client_credentials', client_id: 'web', client_secret })).status
    expect([await withSecret(secret), await withSecret(web.client_secret)]).toEqual([200, 200])
    clock.travel(86_399)
    expect(await withSecret(secret)).toBe(200)
    expect(acts()).toEqual([['client.secret_rotated', { clientId: 'web', actor: 'carol' }]])
  })

  test('are disabled, enabled and deleted; the page says what a deletion ends', async () => {
    const { tokens } = await signedIn()
    const carol = as('carol')
    const disabled = await carol.submit(await carol.get(pathTo('web')), 'value="disable"')
    expect(textOf(disabled)).toContain('The client is disabled.')
    expect((await userinfo(host, tokens.access_token)).status).toBe(401)
    await carol.submit(disabled, 'value="enable"')
    expect((await userinfo(host, tokens.access_token)).status).toBe(200)
    const asked = await carol.get('/oauth/admin/delete-client?client_id=web')
    expect(textOf(asked)).toMatch(/Users who allowed it something 1 Authorizations that were not ended 1 /)
    const list = await carol.submit(asked, 'value="delete"')
    expect(textOf(list)).toContain('The client Web client is deleted.')
    expect(await metadataOf('web')).toBeUndefined()
    const named = { clientId: 'web', actor: 'carol' }
    expect(acts()).toEqual([
      ['client.disabled', named],
      ['client.enabled', named],
      ['client.deleted', named],
    ])
    expectErrorPage(await carol.get(pathTo('web')), 404)
    expectErrorPage(await carol.get('/oauth/admin/delete-client'), 404)
    expectErrorPage(await carol.submit(asked, 'value="delete"'), 404)
  })

  test('a thousand of them have pages of fifty and a search, with one statement each', async () => {
    const { knex, tablePrefix } = host.database
    const [row] = await knex(`${tablePrefix}clients`).where({ client_id: 'self' })
    const rows = Array.from({ length: 1000 }, (_, index) => {
      const client_id = `c-${String(index).padStart(4, '0')}`
      return {
        ...row,
        client_id,
        metadata: JSON.stringify({ ...JSON.parse(row.metadata), client_name: `No. ${index}` }),
      }
    })
    for (let start = 0; start < rows.length; start += 50)
      await knex(`${tablePrefix}clients`).insert(rows.slice(start, start + 50))
    const carol = as('carol')
    await carol.get('/oauth/admin')
    const count = await countStatements(knex, [`${tablePrefix}sessions`])
    const seen: string[] = []
    let next: string | undefined = '/oauth/admin?q=no.'
    let pagesSeen = 0
    while (next !== undefined) {
      count.reset()
      const { html }: Answer = await carol.get(next)
      expect(count.ours).toHaveLength(1)
      pagesSeen += 1
      seen.push(...[...html.matchAll(/client\?client_id=(c-[0-9]{4})"/g)].map(([, id = '']) => id))
      next = /href="([^"]+)">Next page/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(pagesSeen).toBe(20)
    expect(seen).toEqual(rows.map(({ client_id }) => client_id))
    const found = await carol.get('/oauth/admin?q=NO.%20999')
    expect(textOf(found)).toContain('No. 999')
    expect(found.html).not.toContain('Next page')
    expect(textOf(await carol.get('/oauth/admin?q=%25%3Cb%3E'))).toContain('“ %&lt;b&gt; ”')
  })
})
