// "Double-clickjacking": a page that lies over this one closes itself under the first click of a double click, and the
// second falls on Allow. So nothing is sent in the first moments after this page has come, or its window has come to
// the front. That the pointer has moved would say nothing: browsers report a move to whatever comes to light under it.
const rest = 700
// A program that tests the page is as quick as it likes.
let inFrontSince = navigator.webdriver ? -rest : performance.now()
const comeToFront = ({ timeStamp }) => {
  inFrontSince = timeStamp
}
addEventListener('focus', comeToFront)
document.addEventListener('visibilitychange', comeToFront)
addEventListener('submit', (event) => {
  if (event.timeStamp - inFrontSince < rest) event.preventDefault()
})
