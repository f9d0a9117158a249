import type { Knex } from 'knex'

interface Payload {
  readonly grantId?: string
  readonly userCode?: string
  readonly uid?: string
  readonly [name: string]: unknown
}

interface Row {
  readonly payload: string
  readonly consumed_at: number | null
  readonly expires_at: number | null
}

const now = (): number => Math.floor(Date.now() / 1000)

/** Creates the table of the adapter; every property for a lookup has a column and an index. */
export const createPayloads = (knex: Knex): Promise<void> =>
  knex.schema.createTable('payloads', (table) => {
    table.string('id').notNullable()
    table.string('model').notNullable()
    table.text('payload').notNullable()
    table.string('grant_id').nullable().index()
    table.string('user_code').nullable().index()
    table.string('uid').nullable().index()
    table.bigInteger('expires_at').nullable().index()
    table.bigInteger('consumed_at').nullable()
    table.primary(['id', 'model'])
  })

/** A typical adapter for Knex, as described in the documentation of oidc-provider. */
export const sqlAdapter = (knex: Knex) =>
  class SqlAdapter {
    readonly #model: string

    constructor(model: string) {
      this.#model = model
    }

    #rows(where: Readonly<Record<string, string>>): Knex.QueryBuilder {
      return knex('payloads').where({ ...where, model: this.#model })
    }

    async #first(where: Readonly<Record<string, string>>): Promise<Payload | undefined> {
      const row: Row | undefined = await this.#rows(where).first()
      if (row === undefined || (row.expires_at !== null && row.expires_at <= now())) return undefined
      return { ...JSON.parse(row.payload), ...(row.consumed_at === null ? {} : { consumed: true }) }
    }

    async upsert(id: string, payload: Payload, expiresIn?: number): Promise<void> {
      const row = {
        id,
        model: this.#model,
        payload: JSON.stringify(payload),
        grant_id: payload.grantId ?? null,
        user_code: payload.userCode ?? null,
        uid: payload.uid ?? null,
        expires_at: expiresIn === undefined ? null : now() + expiresIn,
      }
      await knex('payloads').insert(row).onConflict(['id', 'model']).merge()
    }

    find(id: string): Promise<Payload | undefined> {
      return this.#first({ id })
    }

    findByUid(uid: string): Promise<Payload | undefined> {
      return this.#first({ uid })
    }

    findByUserCode(userCode: string): Promise<Payload | undefined> {
      return this.#first({ user_code: userCode })
    }

    async consume(id: string): Promise<void> {
      await this.#rows({ id }).update({ consumed_at: now() })
    }

    async destroy(id: string): Promise<void> {
      await this.#rows({ id }).delete()
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      await this.#rows({ grant_id: grantId }).delete()
    }
  }
