import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What some tests need beside Node: databases, a session store, a browser, stock clients in other languages. */
export type Service =
  | 'postgresql'
  | 'mariadb'
  | 'redis'
  | 'chromium'
  | 'authlib'
  | 'django-oauth-toolkit'
  | 'doorkeeper'
  | 'go-oidc'
  | 'mod_auth_openidc'
  | 'omniauth'

/** Debian's headless shell is the same engine without the windows of a desktop; each page takes a quarter of the time. */
const chromiums = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** Where each service is; every one can be set in the environment. */
export const services: Readonly<Record<Service, string>> = {
  postgresql: process.env.TEST_POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
  mariadb: process.env.TEST_MARIADB_URL ?? 'mysql://root@127.0.0.1:3306/test',
  redis: process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379',
  chromium: process.env.CHROMIUM_PATH ?? chromiums.find(existsSync) ?? '/usr/bin/chromium',
  authlib: process.env.AUTHLIB_PYTHON ?? '/usr/bin/python3',
  'django-oauth-toolkit': process.env.DJANGO_PYTHON ?? '/usr/bin/python3',
  doorkeeper: process.env.DOORKEEPER_RUBY ?? '/usr/bin/ruby',
  'go-oidc': process.env.GO_OIDC_PATH ?? '/usr/share/gocode',
  mod_auth_openidc: process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules',
  omniauth: process.env.OMNIAUTH_RUBY ?? '/usr/bin/ruby',
}

/** Each probe is a program that is given the place as its argument and fails unless the service can be used. */
const probes: Readonly<Record<Service, string>> = {
  postgresql: `
    const client = new (require('pg').Client)({ connectionString: place, connectionTimeoutMillis: 3000 })
    client.connect().then(() => client.end()).catch(fail)`,
  mariadb: `
    require('mysql2/promise').createConnection({ uri: place, connectTimeout: 3000 })
      .then((connection) => connection.end()).catch(fail)`,
  redis: `
    const { hostname, port } = new URL(place)
    const socket = require('node:net').connect({ host: hostname, port: Number(port || 6379), timeout: 3000 })
    socket.on('connect', () => socket.write('PING\\r\\n')).on('timeout', () => fail(new Error('no answer')))
    socket.on('error', fail).on('data', () => socket.end())`,
  chromium: `
    require('node:fs').accessSync(place, require('node:fs').constants.X_OK)`,
  authlib: `
    const run = require('node:child_process').spawnSync(place, ['-c', 'import authlib, requests'])
    if (run.status !== 0) fail(run.error || new Error('it cannot import authlib and requests'))`,
  'django-oauth-toolkit': `
    const modules = 'import oauth2_provider, psycopg2, MySQLdb'
    const run = require('node:child_process').spawnSync(place, ['-c', modules])
    if (run.status !== 0) fail(run.error || new Error('it cannot ' + modules))`,
  doorkeeper: `
    const gems = 'require "rails"; require "active_record"; require "doorkeeper"; require "bcrypt"; require "pg"; require "mysql2"'
    const run = require('node:child_process').spawnSync(place, ['-e', gems])
    if (run.status !== 0) fail(run.error || new Error('it cannot ' + gems))`,
  'go-oidc': `
    require('node:fs').accessSync(place + '/src/github.com/coreos/go-oidc')
    const run = require('node:child_process').spawnSync('go', ['version'])
    if (run.status !== 0) fail(run.error)`,
  mod_auth_openidc: `
    require('node:fs').accessSync(place + '/mod_auth_openidc.so')
    const run = require('node:child_process').spawnSync('apache2', ['-v'])
    if (run.status !== 0) fail(run.error)`,
  omniauth: `
    const run = require('node:child_process').spawnSync(place, ['-e', 'require "omniauth_openid_connect"'])
    if (run.status !== 0) fail(run.error || new Error('it cannot require omniauth_openid_connect'))`,
}

const remedies: Readonly<Record<Service, string>> = {
  postgresql: 'start PostgreSQL with a database named test, or set TEST_POSTGRES_URL',
  mariadb: 'start MariaDB with a database named test, or set TEST_MARIADB_URL',
  redis: 'start Redis, or set TEST_REDIS_URL',
  chromium: 'apt-get install chromium-headless-shell fonts-dejavu-core, or set CHROMIUM_PATH',
  authlib: 'apt-get install python3-authlib python3-requests, or set AUTHLIB_PYTHON',
  'django-oauth-toolkit':
    'apt-get install python3-django-oauth-toolkit python3-psycopg2 python3-mysqldb, or set DJANGO_PYTHON',
  doorkeeper:
    'apt-get install ruby-doorkeeper ruby-activerecord ruby-pg ruby-mysql2 ruby-bcrypt, or set DOORKEEPER_RUBY',
  'go-oidc': 'apt-get install golang-go golang-github-coreos-go-oidc-dev, or set GO_OIDC_PATH',
  mod_auth_openidc: 'apt-get install libapache2-mod-auth-openidc, or set APACHE_MODULES',
  omniauth: 'apt-get install ruby-omniauth-openid-connect, or set OMNIAUTH_RUBY',
}

const prelude = `
  const place = process.argv[1]
  const fail = (error) => {
    console.error(error.message || (error.errors || [error]).map(({ code }) => code).join(', '))
    process.exit(1)
  }
  process.on('uncaughtException', fail)`

/** Written when a service has answered, for the other test files of the same run: a probe is a process of its own. */
const answerOf = (service: Service): string => join(tmpdir(), `latchkey-${service}-of-${process.ppid}`)

const hasAnswered = (service: Service): boolean => {
  const written = statSync(answerOf(service), { throwIfNoEntry: false })
  return written !== undefined && Date.now() - written.mtimeMs < 600_000
}

/** Why the service cannot be used and what to do about it, in one line; undefined when it can. */
export function missing(service: Service): string | undefined {
  if (hasAnswered(service)) return undefined
  // describe() must be known when the file has loaded, so this waits for a small process instead of a promise.
  const probe = spawnSync(process.execPath, ['-e', prelude + probes[service], services[service]], {
    cwd: __dirname,
    encoding: 'utf8',
    timeout: 60_000,
  })
  if (probe.status === 0) {
    writeFileSync(answerOf(service), '')
    return undefined
  }
  const reason = probe.stderr.trim().split('\n')[0] || 'no answer'
  const place = services[service].replace(/:[^:/@]*@/, '@')
  return `${service} is missing at ${place} (${reason}): ${remedies[service]}`
}

/**
 * `describe` for tests that need services. Without one of them the tests are skipped with a message;
 * with REQUIRE_SERVICES=1 a missing service is a failing test instead.
 *
 * @example describeWith('chromium', 'the login page', () => { test(…) })
 */
export function describeWith(needed: Service | readonly Service[], name: string, tests: () => void): void {
  const reasons = [needed].flat().flatMap((service) => missing(service) ?? [])
  if (reasons.length === 0) {
    describe(name, tests)
  } else if (process.env.REQUIRE_SERVICES === '1') {
    describe(name, () => {
      test.each(reasons)('%s', (reason) => {
        throw new Error(reason)
      })
    })
  } else {
    for (const reason of reasons) console.warn(`skipped: ${name}, because ${reason}`)
    describe.skip(name, tests)
  }
}
