import { filesOf } from '../support/snippets.ts'

/** The files of the feature on docs/feature-of-your-own.md. */
export const featureFiles = filesOf('docs/feature-of-your-own.md')

/** An app that lists the feature. `DATABASE` has the configuration of Knex. */
const app = `
import express from 'express'
import knex from 'knex'
import { authRouter } from 'latchkey'
import { terms } from './terms.ts'

const people = [{ id: '1', username: 'ada' }]
const options = terms({ url: 'https://app.example.com/terms', version: '2' })
const { tablePrefix, ...config } = JSON.parse(process.env.DATABASE)
const oauth = authRouter({
  issuer: process.env.ISSUER,
  database: { knex: knex({ useNullAsDefault: true, ...config }), tablePrefix },
  users: {
    find: (id) => people.find((each) => each.id === id),
    authenticate: ({ username, password }) => password === 'secret' && people.find((each) => each.username === username),
  },
  features: [process.env.IS_OFF ? terms.off() : options],
})
const events = []
oauth.events.on('terms.accepted', ({ subject, version }) => events.push({ subject, version }))
const app = express()
app.use(new URL(process.env.ISSUER).pathname, oauth)
app.get('/host', async (_req, res) => {
  const { acceptedTerms } = await oauth.users.export('1')
  res.json({ events, acceptedTerms, acceptedBy: await oauth.terms?.acceptedBy('1') })
})
app.post('/host/erase', async (_req, res) => res.json(await oauth.users.erase('1')))
await oauth.ready()
const { PORT = 0 } = process.env
const server = app.listen(PORT, '127.0.0.1', () => process.send?.({ origin: \`http://127.0.0.1:\${server.address().port}\`, node: process.version }))
`

/** The files of a host with the feature. */
export const hostFiles = { ...featureFiles, 'app.mjs': app }
