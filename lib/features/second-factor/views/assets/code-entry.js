// Sends the code when its last digit has been typed, and asks for another code only after a while. Without this file the user
// presses the button, and the server alone limits how many codes are sent.
addEventListener('DOMContentLoaded', () => {
  const field = document.getElementById('code')
  field.addEventListener('input', () => {
    if (field.value.replace(/\s/g, '').length === Number(field.dataset.digits)) field.form.requestSubmit()
  })
  const send = document.querySelector('[data-wait]')
  if (!send) return
  const text = send.textContent
  const number = new Intl.NumberFormat(document.documentElement.lang)
  let left = Number(send.dataset.wait)
  const tick = () => {
    send.disabled = left > 0
    send.textContent = left > 0 ? `${text} (${number.format(left)})` : text
    if (left > 0) setTimeout(tick, 1000)
    left -= 1
  }
  tick()
})
