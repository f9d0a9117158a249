export const de = {
  'personal-tokens.title': 'Zugriffstoken',
  'personal-tokens.text':
    'Mit einem Zugriffstoken können Skripte und Programme Ihr Konto bei {product} verwenden. Behandeln Sie es wie ein Passwort.',
  'personal-tokens.created': 'Ihr neues Token „{name}“',
  'personal-tokens.created.text':
    'Kopieren Sie es jetzt und bewahren Sie es sicher auf. Es wird nicht noch einmal angezeigt.',
  'personal-tokens.revoked': 'Das Token funktioniert nicht mehr.',
  'personal-tokens.empty': 'Sie haben noch keine Zugriffstoken.',
  'personal-tokens.full':
    'Sie haben die Höchstzahl von {count} Token erreicht. Widerrufen Sie eines, um ein weiteres zu erstellen.',
  'personal-tokens.new': 'Neues Token',
  'personal-tokens.expires': 'Läuft ab: {date}',
  'personal-tokens.expired': 'Abgelaufen: {date}',
  'personal-tokens.since': 'Erstellt',
  'personal-tokens.last-used': 'Zuletzt verwendet',
  'personal-tokens.never': 'Nie',
  'personal-tokens.revoke': 'Widerrufen',
  'personal-tokens.revoke.of': '(Token {name})',
  'personal-token-form.name.hint': 'Wofür es ist, zum Beispiel „Backup-Skript“.',
  'personal-token-form.days': 'Gültig für',
  'personal-token-form.days.count': '{days} Tage',
  'personal-token-form.days.other': 'Anderes Datum',
  'personal-tokens.ended': 'Abgelaufen',
  'personal-token-form.submit': 'Token erstellen',
  'personal-token-form.error.access': 'Ihr Konto darf dieses Token nicht erstellen.',
  'personal-token-form.error.name': 'Geben Sie einen Namen mit höchstens 60 Zeichen ein.',
  'personal-token-form.error.scopes': 'Wählen Sie mindestens eine Berechtigung aus.',
  'personal-token-form.error.days': 'Wählen Sie ein Datum von morgen bis {date}.',
  'personal-token-form.error.organization': 'Wählen Sie einen Arbeitsbereich aus.',
  'personal-token-form.error.things': 'Wählen Sie aus, was das Token verwenden darf.',
  'personal-token-form.error.moved':
    'Sie haben den Arbeitsbereich gewechselt. Wählen Sie noch einmal aus, was das Token verwenden darf.',
  'revoke-token.title': 'Token „{name}“ widerrufen?',
  'revoke-token.text':
    'Skripte und Programme, die es verwenden, verlieren sofort den Zugriff. Das lässt sich nicht rückgängig machen.',
}
