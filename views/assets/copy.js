// Copies what stands beside a button, and prints the page. Without this file there are no such buttons, and the text can be
// selected as a whole.
addEventListener('DOMContentLoaded', () => {
  for (const button of document.querySelectorAll('[data-print]')) {
    button.hidden = false
    button.addEventListener('click', () => print())
  }
  if (!navigator.clipboard) return
  for (const button of document.querySelectorAll('[data-copy]')) {
    const status = button.nextElementSibling
    button.hidden = false
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
      button.textContent = status.dataset.text
      status.textContent = status.dataset.text
    })
  }
})
