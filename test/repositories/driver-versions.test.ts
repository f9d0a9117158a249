import { describeVersions, fileOfVersion } from '../package/packed-package.ts'
import { openTestDatabase } from '../support/database.ts'
import { createUsers, type Host, startHost } from '../support/host.ts'
import { describeWith, type Service, services } from '../support/services.ts'
import { codeFor, redeem, refresh } from '../support/tokens.ts'

// The oldest drivers that package.json allows. All other tests run with the newest.

const drivers: readonly (readonly [Service, string, string])[] = [
  ['postgresql', 'pg-8.0', 'lib/index.js'],
  ['mariadb', 'mysql2-3.0', 'index.js'],
]

for (const [service, version, file] of drivers) {
  describeVersions(`the driver ${version}`, () => {
    describeWith(service, 'a host', () => {
      let host: Host
      let driver: unknown
      beforeAll(async () => {
        const database = openTestDatabase(services[service])
        // Before the first connection.
        driver = require(fileOfVersion(version, file))
        database.knex.client.driver = driver
        await createUsers(database, `${database.tablePrefix}people`)
        host = await startHost({ database })
      })
      afterAll(async () => {
        await host.close()
      })

      test('redeems a code once, and rotates a refresh token', async () => {
        const code = await codeFor(host, { scope: 'openid offline_access' })
        const attempts = await Promise.all([1, 2, 3].map(() => redeem(host, code)))
        expect(attempts.map(({ status }) => status).sort()).toEqual([200, 400, 400])
        const other = await redeem(host, await codeFor(host, { scope: 'openid offline_access' }))
        expect((await refresh(host, other.body.refresh_token)).status).toBe(200)
        expect(host.database.knex.client.driver).toBe(driver)
      })
    })
  })
}
