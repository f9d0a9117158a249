// Copies what stands beside a button. Without this file there is no button, and the text can be selected as a whole.
addEventListener('DOMContentLoaded', () => {
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
