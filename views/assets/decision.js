// Double-clickjacking: a window on top of this page closes at the first click of a double click, and the second click
// presses a button here. Buttons therefore do nothing shortly after the page loads or its window comes to the front.
// Pointer movement is no proof of intent: browsers also report a move when a window under the pointer is uncovered.
const rest = 700
let inFrontSince = performance.now()
const comeToFront = ({ timeStamp }) => {
  inFrontSince = timeStamp
}
addEventListener('focus', comeToFront)
document.addEventListener('visibilitychange', comeToFront)
// A second click would take the place of the answer to the first, and a code that was issued would not arrive. A page that
// stays, because an app was opened or the browser was stopped, can be used again when no answer can be under way any more.
const longest = 10_000
let sentAt
addEventListener('pageshow', () => {
  sentAt = undefined
})
addEventListener('submit', (event) => {
  const { submitter, target, timeStamp } = event
  // Searching decides nothing. Enter in a field of the consent page presses a button with the method `dialog`, which sends nothing.
  if ((submitter?.formMethod || target.method) !== 'post') return
  // A form with a password needs more than a press, and password managers send it at once.
  const isTooSoon = !target.elements.password && timeStamp - inFrontSince < rest
  if (isTooSoon) {
    const again = document.getElementById('again')
    again.textContent = again.dataset.text
  }
  if (isTooSoon || timeStamp - sentAt < longest) event.preventDefault()
  else sentAt = timeStamp
})
// A key that was pressed on an earlier page repeats here while it is held, and is released here. Only a key that is
// pressed on this page may press a button, be it by Enter in a field.
const pressed = new Set()
addEventListener('keydown', (event) => {
  if (!event.repeat) pressed.add(event.code)
  else if (event.key === 'Enter' || event.target instanceof HTMLButtonElement) event.preventDefault()
})
addEventListener('keyup', (event) => {
  if (!pressed.delete(event.code)) event.preventDefault()
})
