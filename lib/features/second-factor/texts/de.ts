export const de = {
  'second-factor.title': 'Code eingeben',
  'second-factor.app.text': 'Öffnen Sie Ihre Authenticator-App und geben Sie den Code für dieses Konto ein.',
  'second-factor.sent.to': 'Wir haben einen Code an {to} geschickt. Geben Sie ihn hier ein.',
  'second-factor.sent.text': 'Geben Sie den Code ein, den wir Ihnen geschickt haben.',
  'second-factor.sent.notice': 'Wir haben Ihnen einen weiteren Code geschickt.',
  'second-factor.code': 'Einmalcode',
  'second-factor.submit': 'Weiter',
  'second-factor.send': 'Weiteren Code senden',
  'second-factor.use-recovery': 'Wiederherstellungscode verwenden',
  'second-factor.use-code': 'Code aus der App verwenden',
  'second-factor.recovery.title': 'Wiederherstellungs­code eingeben',
  'second-factor.recovery.text':
    'Geben Sie einen der Wiederherstellungscodes ein, die Sie gespeichert haben. Jeder Code gilt einmal.',
  'second-factor.recovery.code': 'Wiederherstellungscode',
  'second-factor.wrong.title': 'Falscher Code',
  'second-factor.wrong.text':
    'Prüfen Sie den Code und geben Sie ihn noch einmal ein. Jeder Code gilt einmal.',
  'second-factor.not-sent.title': 'Wir können gerade keine weiteren Codes senden',
  'second-factor.not-sent.text':
    'Geben Sie den neuesten Code ein, den Sie erhalten haben, oder melden Sie sich später noch einmal an.',
  'second-factor.unavailable.text':
    'Wir konnten Ihren Code nicht prüfen. Versuchen Sie es gleich noch einmal.',
  'second-factor-settings.title': 'Anmeldung in zwei Schritten',
  'second-factor-settings.text':
    'Mit einem zusätzlichen Code von Ihrem Handy genügt ein gestohlenes Passwort nicht.',
  'second-factor-settings.on.text':
    'Für die Anmeldung brauchen Sie Ihr Passwort und einen Code aus Ihrer Authenticator-App.',
  'second-factor-settings.scan':
    'Scannen Sie dies mit Ihrer Authenticator-App und geben Sie den Code ein, den die App zeigt.',
  'second-factor-settings.qr': 'QR-Code für Ihre Authenticator-App',
  'second-factor-settings.secret': 'Oder tippen Sie diesen Schlüssel in die App:',
  'second-factor-settings.confirm': 'Einschalten',
  'second-factor-settings.since': 'Eingeschaltet seit',
  'second-factor-settings.codes-left': 'Übrige Wiederherstellungscodes',
  'second-factor-settings.open': 'Authenticator-App öffnen',
  'second-factor-settings.change':
    'Um etwas zu ändern, geben Sie einen Code aus Ihrer App oder einen Wiederherstellungscode ein.',
  'second-factor-settings.on': 'Die Anmeldung in zwei Schritten ist eingeschaltet.',
  'second-factor-settings.few':
    'Sie haben kaum noch Wiederherstellungscodes. Holen Sie sich rechtzeitig neue.',
  'second-factor-settings.renew': 'Neue Wiederherstellungscodes',
  'second-factor-settings.replace': 'Andere App verwenden',
  'second-factor-settings.replace.title': 'Andere App einrichten',
  'second-factor-settings.replace.text':
    'Ihre bisherige App gilt, bis Sie den ersten Code der neuen eingeben.',
  'second-factor-settings.replace.confirm': 'Diese App verwenden',
  'second-factor-settings.replace.cancel': 'Bisherige App behalten',
  'second-factor-settings.replaced': 'Ihre neue App ist eingerichtet. Codes der alten gelten nicht mehr.',
  'second-factor-settings.codes.download': 'Herunterladen',
  'second-factor-settings.codes.print': 'Drucken',
  'second-factor-settings.remove.code': 'Code oder Wiederherstellungscode',
  'second-factor-settings.remove': 'Ausschalten',
  'second-factor-settings.removed': 'Die Anmeldung in zwei Schritten ist ausgeschaltet.',
  'second-factor-settings.throttled.text': 'Versuchen Sie es in {wait} noch einmal.',
  'second-factor-settings.codes.title': 'Codes jetzt speichern',
  'second-factor-settings.codes.text':
    'Wenn Sie Ihre Authenticator-App verlieren, können Sie sich mit einem dieser Codes anmelden. Jeder gilt nur einmal. Sie werden nicht noch einmal angezeigt.',
  'second-factor-settings.codes.submit': 'Ich habe sie gespeichert',
}
