/** Until mocks are restored, timeouts of several seconds end after a quarter of their time. */
export const shortenTimeouts = (): void => {
  const { setTimeout: start } = globalThis
  const shortened = (work: () => void, milliseconds = 0, ...parameters: []): NodeJS.Timeout =>
    start(work, milliseconds >= 4000 ? milliseconds / 4 : milliseconds, ...parameters)
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(shortened as typeof setTimeout)
}
