export const de = {
  'login.passkey': 'Mit Passkey anmelden',
  'login.passkey.none':
    'Es wurde kein Passkey verwendet. Versuchen Sie es noch einmal, oder verwenden Sie Ihr Passwort.',
  'login.passkey.needed':
    'Verwenden Sie Ihren Passkey, um fortzufahren. Auf dieser Seite genügt Ihr Passwort allein nicht.',
  'login.passkey.failed.title': 'Der Passkey hat nicht funktioniert',
  'login.passkey.failed.text': 'Versuchen Sie es noch einmal, oder verwenden Sie Ihr Passwort.',
  'passkeys.title': 'Passkeys',
  'passkeys.text':
    'Melden Sie sich bei {product} mit Fingerabdruck, Gesicht oder Bildschirmsperre an, statt mit einem Passwort.',
  'passkeys.empty': 'Sie haben noch keinen Passkey.',
  'passkeys.unnamed': 'Passkey ohne Namen',
  'passkeys.on': 'Passkey auf {device}',
  'passkeys.security-key': 'Sicherheitsschlüssel',
  'passkeys.created': 'Hinzugefügt am {date}',
  'passkeys.change': 'Ändern',
  'passkeys.add': 'Passkey hinzufügen',
  'passkeys.none': 'Es wurde kein Passkey hinzugefügt. Vielleicht hat dieses Gerät schon einen.',
  'passkeys.script':
    'Um einen Passkey hinzuzufügen, schalten Sie JavaScript ein, in einem Browser, der Passkeys unterstützt.',
  'passkeys.full':
    'Mehr als {count} Passkeys sind nicht möglich. Entfernen Sie zuerst einen, um einen anderen hinzuzufügen.',
  'passkeys.added': 'Passkey hinzugefügt. Ab jetzt können Sie sich damit anmelden.',
  'passkeys.not-added': 'Der Passkey wurde nicht hinzugefügt. Bitte versuchen Sie es noch einmal.',
  'passkeys.renamed': 'Name geändert.',
  'passkeys.removed': 'Passkey entfernt. Niemand kann sich mehr damit anmelden.',
  'passkey.title': '„{passkey}“ ändern',
  'passkey.new': 'Passkey benennen',
  'passkey.later': 'Nicht jetzt',
  'passkey.name': 'Name des Passkeys',
  'passkey.rename': 'Namen speichern',
  'passkey.remove.text':
    'Wenn Sie diesen Passkey entfernen, können Sie sich nicht mehr damit anmelden. Löschen Sie ihn auch auf Ihrem Gerät.',
  'passkey.remove': 'Entfernen',
  'passkey.cancel': 'Abbrechen',
}
