// A button named "submit" would hide the form's own method.
addEventListener('DOMContentLoaded', () =>
  HTMLFormElement.prototype.submit.call(document.getElementById('form-post')),
)
