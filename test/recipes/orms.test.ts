// The recipes for users behind Sequelize and TypeORM on PostgreSQL.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import createKnex, { type Knex } from 'knex'
import { type ClientSeed, migrate, seedClients } from '../../lib/index.ts'
import { callback, secret } from '../support/host.ts'
import { freePort, type HostFolder, openHostFolder } from '../support/host-folder.ts'
import { claimsOf } from '../support/outcomes.ts'
import { locationOf, RawBrowser } from '../support/raw-browser.ts'
import { authorizeAt, redeemed } from '../support/recipe.ts'
import { describeWith, services } from '../support/services.ts'
import { filesOf } from '../support/snippets.ts'
import { ada } from '../support/stock-client.ts'

const page = 'docs/recipes/orms.md'
const { 'app.mjs': app = '', ...modules } = filesOf(page)
const web: ClientSeed = {
  client_id: 'web',
  client_secret: secret,
  redirect_uris: [callback],
  first_party: true,
}

/** The app of the page with the users of a module in place of its own. */
const appWith = (module: string): string =>
  `import { users } from './${module}'\n${app.replace(/ {2}users: \{[\s\S]*?\n {2}\},\n/, '  users,\n')}`

const forms = [
  { form: 'as a table', code: app },
  { form: 'behind Sequelize', code: appWith('sequelize-users.mjs') },
  { form: 'behind TypeORM', code: appWith('typeorm-users.mjs') },
]

describeWith('postgresql', page, () => {
  const schema = `recipes_${process.pid}`
  let knex: Knex
  let folder: HostFolder
  beforeAll(async () => {
    const admin = createKnex({ client: 'pg', connection: services.postgresql })
    await admin.schema.createSchemaIfNotExists(schema)
    await admin.destroy()
    knex = createKnex({ client: 'pg', connection: services.postgresql, searchPath: [schema] })
    // The names that each of them gives to the table of a model User.
    for (const table of ['Users', 'user']) {
      await knex.schema.createTable(table, (columns) => {
        columns.increments('id')
        for (const name of ['email', 'passwordHash', 'fullName']) columns.string(name)
        for (const name of ['disabledAt', 'createdAt', 'updatedAt']) columns.timestamp(name)
      })
      const passwordHash = await hash(ada.password, { cost: 4 })
      await knex(table).insert({ email: ada.email, fullName: ada.full_name, passwordHash })
    }
    await migrate(knex)
    await seedClients(knex, [web])
    folder = openHostFolder(modules)
  }, 60_000)
  afterAll(async () => {
    folder?.remove()
    await knex?.schema.dropSchemaIfExists(schema, true)
    await knex?.destroy()
  })

  test.each(forms)(
    'users $form sign in, have claims, and cannot when they are disabled',
    async ({ code }) => {
      const port = await freePort()
      const origin = `http://localhost:${port}`
      const file = `app-${port}.mjs`
      writeFileSync(join(folder.path, file), code)
      const env = { DATABASE_URL: services.postgresql, PGOPTIONS: `-c search_path=${schema}` }
      await folder.start(file, { PORT: String(port), ...env })
      const request = authorizeAt(`${origin}/oauth`, { scope: 'openid profile email' })
      const visit = () => new RawBrowser(origin, origin).grant(request, ada.email, ada.password)
      const { id_token } = await redeemed({ issuer: `${origin}/oauth` }, locationOf(await visit()))
      expect(claimsOf(id_token ?? '')).toMatchObject({ sub: '1', name: ada.full_name, email: ada.email })
      const wrong = await new RawBrowser(origin, origin).grant(request, 'eve@example.com', ada.password)
      expect(wrong.status).toBe(400)
      for (const table of ['Users', 'user']) await knex(table).update({ disabledAt: new Date() })
      try {
        expect((await visit()).status).toBe(400)
      } finally {
        for (const table of ['Users', 'user']) await knex(table).update({ disabledAt: null })
      }
    },
    60_000,
  )
})
