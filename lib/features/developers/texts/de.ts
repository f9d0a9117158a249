export const de = {
  'developer.title': 'Ihre Apps',
  'developer.text':
    'Apps, die Sie hier registrieren, können Nutzer bitten, sich mit ihrem Konto bei {product} anzumelden.',
  'developer.forbidden': 'Mit diesem Konto können Sie keine Apps registrieren.',
  'developer.new': 'App registrieren',
  'developer.empty': 'Sie haben noch keine Apps.',
  'developer.full':
    'Sie haben die Höchstzahl von {count} Apps erreicht. Löschen Sie eine, um eine weitere zu registrieren.',
  'developer.state.active': 'Aktiv',
  'developer.state.waiting': 'Wartet auf Freigabe',
  'developer.state.changed': 'Aktiv. Änderungen warten auf Freigabe',
  'developer.state.refused': 'Nicht freigegeben',
  'developer.state.unchanged': 'Aktiv. Änderungen wurden nicht freigegeben',
  'developer.state.disabled': 'Von {product} gesperrt',
  'developer.notice.created': 'Ihre App ist registriert.',
  'developer.notice.saved': 'Ihre Änderungen sind gespeichert.',
  'developer.notice.sent': 'Zur Freigabe an {product} gesendet.',
  'developer.notice.rotated': 'Ihre App hat ein neues Secret.',
  'developer.notice.deleted': 'Die App ist gelöscht.',
  'developer-form.edit': '{client} ändern',
  'developer-form.approval': '{product} prüft jede App, bevor sie benutzt werden kann.',
  'developer-form.approval.changes':
    '{product} prüft Ihre Änderungen zuerst. Bis dahin bleibt die App, wie sie ist.',
  'developer-form.stale':
    'Diese App hat sich geändert, seit Sie dieses Formular geöffnet haben. Prüfen Sie Ihre Angaben und speichern Sie noch einmal.',
  'developer-form.register': 'Registrieren',
  'developer-form.save': 'Speichern',
  'developer-client.refused': 'Ändern Sie die App, um sie noch einmal zu senden.',
  'developer-client.unchanged': 'Die App bleibt, wie sie war. Sie können andere Änderungen senden.',
  'developer-client.disabled': 'Diese App kann zurzeit nicht benutzt werden. Wenden Sie sich an {product}.',
  'developer-client.secret': 'Client-Secret',
  'developer-client.secret.text':
    'Kopieren Sie es jetzt und bewahren Sie es sicher auf. Es wird nicht noch einmal angezeigt.',
  'developer-client.edit': 'Ändern',
  'developer-client.rotate': 'Neues Secret',
  'developer-client.delete': 'Löschen',
  'developer-confirm.rotate.title': 'Neues Secret für {client} erzeugen?',
  'developer-confirm.rotate.text': 'Das bisherige Secret gilt noch einen Tag, damit Sie umstellen können.',
  'developer-confirm.rotate.now': 'Das bisherige Secret sofort ungültig machen',
  'developer-confirm.delete.title': '{client} löschen?',
  'developer-confirm.delete.text':
    'Alle, die {client} benutzen, verlieren sofort den Zugriff. Das lässt sich nicht rückgängig machen.',
}
