import type { LoginThrottle } from '../../lib/limits/login-throttle.ts'

/**
 * Keeps twenty wrong passwords for one account in flight, spread over the throttles of several processes, and then sends
 * twenty more.
 *
 * @returns how many were checked
 */
export const checkedInBurst = async (
  processes: readonly Pick<LoginThrottle, 'attempt'>[],
  account: string,
): Promise<number> => {
  let checked = 0
  const guess = async (index: number): Promise<void> => {
    await processes[index % processes.length]?.attempt({ account, address: account }, async () => {
      checked += 1
      await new Promise((resolve) => setImmediate(resolve))
      return undefined
    })
  }
  for (let burst = 0; burst < 2; burst += 1) {
    await Promise.all(Array.from({ length: 20 }, (_, index) => guess(index)))
  }
  return checked
}
