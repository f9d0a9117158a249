import { hash } from '@node-rs/bcrypt'
import type { Knex } from 'knex'

interface DemoUser {
  email: string
  password: string
  full_name: string
  version: '2b' | '2y'
  confirmed: boolean
  disabled?: true
  notes: { title: string; body: string }[]
}

/** The demo users. Their passwords are public, so use them in demos only. */
export const demoUsers: DemoUser[] = [
  {
    email: 'mira@notes.example',
    password: 'seven green lanterns',
    full_name: 'Mira Okafor',
    version: '2b',
    confirmed: true,
    notes: [
      {
        title: 'Sourdough, third try',
        body: '78 % water, 20 % starter. Fold every half hour, then a night in the cold.',
      },
      {
        title: 'Books to give back',
        body: 'The Left Hand of Darkness to Ines, the atlas to the library by Friday.',
      },
      { title: 'Allotment', body: 'Beans between the corn. Ask about the water butt.' },
    ],
  },
  {
    // Her account came over from the PHP version of Notes, which wrote `$2y$` hashes.
    email: 'ines@notes.example',
    password: 'paper boats on water',
    full_name: 'Ines Dahl',
    version: '2y',
    confirmed: false,
    notes: [{ title: 'Train', body: 'Platform 4, 08:12, quiet carriage.' }],
  },
  {
    email: 'left@notes.example',
    password: 'gone since last spring',
    full_name: 'Tom Left',
    version: '2b',
    confirmed: true,
    disabled: true,
    notes: [],
  },
]

const addUser = async (knex: Knex, user: DemoUser): Promise<void> => {
  if (await knex('users').where({ email: user.email }).first('id')) return
  const password_hash = await hash(user.password, { cost: 10, version: user.version })
  await knex.transaction(async (trx) => {
    const [row] = await trx('users')
      .insert({
        email: user.email,
        password_hash,
        full_name: user.full_name,
        confirmed_at: user.confirmed ? trx.fn.now() : null,
        disabled_at: user.disabled ? trx.fn.now() : null,
      })
      .returning('id')
    if (user.notes.length > 0) {
      await trx('notes').insert(user.notes.map((note) => ({ ...note, user_id: row.id })))
    }
  })
}

/** Existing users stay unchanged. */
export const seed = async (knex: Knex): Promise<void> => {
  for (const user of demoUsers) await addUser(knex, user)
}
