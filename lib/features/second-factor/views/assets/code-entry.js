// Sends the code when its last digit has been typed. Without this file the user presses the button.
addEventListener('DOMContentLoaded', () => {
  const field = document.getElementById('code')
  field.addEventListener('input', () => {
    if (field.value.replace(/\s/g, '').length === Number(field.dataset.digits)) field.form.requestSubmit()
  })
})
