export const de = {
  'error.pushed-expired.title': 'Diese Anmeldung ist abgelaufen',
  'error.pushed-expired.what':
    'Zu Ihrer Sicherheit funktioniert jeder Link zur Anmeldung nur einmal und nur für kurze Zeit.',
  'error.pushed-expired.link': 'Neu beginnen',
  'error.pushed-finished.title': 'Dieser Link wurde schon benutzt',
  'error.pushed-finished.what': 'Zu Ihrer Sicherheit funktioniert jeder Link zur Anmeldung nur einmal.',
  'error.pushed-finished.link': 'Weiter zu {client}',
}
