import createKnex from 'knex'
import knexfile from '../knexfile.ts'

/** The one Knex instance of Notes. */
export const database = createKnex(knexfile)
