export const es = {
  'error.pushed-expired.title': 'Este inicio de sesión ha caducado',
  'error.pushed-expired.what':
    'Por su seguridad, cada enlace para iniciar sesión funciona una sola vez y durante poco tiempo.',
  'error.pushed-expired.link': 'Empezar de nuevo',
  'error.pushed-finished.title': 'Este enlace ya se ha utilizado',
  'error.pushed-finished.what': 'Por su seguridad, cada enlace para iniciar sesión funciona una sola vez.',
  'error.pushed-finished.link': 'Continuar a {client}',
}
