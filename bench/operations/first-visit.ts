import { visitOnce } from '../load/authorization.ts'
import type { Prepare } from '../load/worker.ts'
import { visitor } from '../registrations.ts'

/** The maximum number of concurrent workers; each uses every 32nd user. */
const workers = 32

/** Sign-in page, consent page, code and tokens, each time with another user in a new browser. */
export const firstVisit: Prepare = async (worker) => {
  let visits = 0
  return async () => {
    const person = visitor(visits * workers + worker.person.id)
    visits += 1
    await visitOnce({ ...worker, person })
  }
}
