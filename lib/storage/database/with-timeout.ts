/**
 * Waits for work up to a time limit, and discards a later result.
 *
 * @param work what to wait for; the timeout does not stop it
 * @param milliseconds the time limit
 * @param onTimeout returns the result to use instead, or throws the error
 * @returns the result of the work, or of `onTimeout`
 * @throws the error of the work, or of `onTimeout`
 * @example const isHealthy = await withTimeout(check(), 2000, () => false)
 */
export const withTimeout = <T>(work: PromiseLike<T>, milliseconds: number, onTimeout: () => T): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(onTimeout())
      } catch (error) {
        reject(error)
      }
    }, milliseconds)
    work.then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
