// Shows the password on request, tells when Caps Lock is on, and sends the form once. The page works without this file.
addEventListener('DOMContentLoaded', () => {
  const byId = (id) => document.getElementById(id)
  const [password, show, submit, capsLock] = ['password', 'show', 'submit', 'caps-lock'].map(byId)

  // When the next try is checked, by the clock of this device.
  const pause = document.querySelector('[data-at]')
  if (pause) {
    const at = Date.now() + pause.dataset.seconds * 1000
    const { format } = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: 'short' })
    pause.textContent = pause.dataset.at.replace('{time}', format(at))
    // The page then has its field again, unless another user has begun to sign in.
    const another = document.querySelector('.another')
    setTimeout(() => another?.open || location.reload(), pause.dataset.seconds * 1000)
  }
  if (!password) return

  const words = {
    password: [show.textContent, show.ariaLabel],
    text: [show.dataset.shown, show.dataset.shownLabel],
  }
  const become = (type) => {
    password.type = type
    ;[show.textContent, show.ariaLabel] = words[type]
  }
  show.hidden = false
  show.addEventListener('click', () => become(password.type === 'text' ? 'password' : 'text'))

  const tell = (event) => {
    capsLock.textContent = event.getModifierState?.('CapsLock') ? capsLock.dataset.text : ''
  }
  password.addEventListener('keydown', tell)
  password.addEventListener('keyup', tell)

  // A page from the back-forward cache is not busy.
  addEventListener('pageshow', () => submit.removeAttribute('aria-busy'))
  submit.form.addEventListener('submit', (event) => {
    if (submit.ariaBusy === 'true') return event.preventDefault()
    become('password')
    submit.ariaBusy = 'true'
  })
})
