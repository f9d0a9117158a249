import type { Translation } from './en.ts'

/** German, with Sie. */
export const de: Translation = {
  language: 'de',
  direction: 'ltr',
  texts: {
    'title.page': '{title} · {product}',
    'title.error': 'Fehler: {title}',

    'login.title': 'Anmelden',
    'login.continue': 'weiter zu {client} ({host})',
    'login.continue.no-host': 'weiter zu {client}',
    'login.username': 'E-Mail-Adresse oder Benutzername',
    'login.password': 'Passwort',
    'login.submit': 'Anmelden',
    'login.forgot-password': 'Passwort vergessen?',
    'login.sign-up': 'Konto erstellen',
    'login.confirm.title': 'Bestätigen Sie, dass Sie es sind',
    'login.confirm.continue': 'Geben Sie Ihr Passwort ein, um mit {client} ({host}) fortzufahren',
    'login.confirm.continue.no-host': 'Geben Sie Ihr Passwort ein, um mit {client} fortzufahren',
    'login.confirm.plain': 'Geben Sie Ihr Passwort ein, um fortzufahren',
    'login.confirm.submit': 'Weiter',
    'login.credentials.title': 'Die Anmeldung hat nicht geklappt',
    'login.credentials.link': 'Benutzername oder Passwort stimmt nicht',
    'login.credentials.field': 'Prüfen Sie Ihren Benutzernamen und geben Sie Ihr Passwort noch einmal ein.',
    'login.credentials.confirm.link': 'Das Passwort stimmt nicht',
    'login.credentials.confirm.field': 'Geben Sie Ihr Passwort noch einmal ein.',
    'login.throttled.title': 'Zu viele Versuche',
    'login.throttled.text':
      'Zum Schutz dieses Kontos ist die Anmeldung vorübergehend gesperrt. Versuchen Sie es in {wait} noch einmal.',
    'login.throttled.later':
      'Zum Schutz dieses Kontos ist die Anmeldung vorübergehend gesperrt. Versuchen Sie es später noch einmal.',
    'login.unavailable.title': 'Wir können Ihr Passwort gerade nicht prüfen',
    'login.unavailable.text':
      'Der Fehler liegt bei uns. Warten Sie einen Moment und versuchen Sie es noch einmal.',

    'select-account.title': 'Konto auswählen',
    'select-account.continue': 'Weiter als {username}',
    'select-account.another': 'Anderes Konto verwenden',

    'client.unverified': 'Nicht geprüft',
    'client.unverified.text':
      '{product} hat nicht geprüft, wer dahintersteht. Fahren Sie nur fort, wenn Sie den Anbieter kennen und ihm vertrauen.',

    'consent.title': 'Zugriff erlauben?',
    'consent.heading': '{client} möchte auf Ihr Konto bei {product} zugreifen',
    'consent.host': 'Anfrage von {host}',
    'consent.account': 'Angemeldet als {username}',
    'consent.switch': 'Nicht Sie?',
    'consent.group.identity': 'Wer Sie sind',
    'consent.group.read': 'Was eingesehen werden kann',
    'consent.group.change': 'Was geändert werden kann',
    'consent.group.offline': 'Während Sie nicht da sind',
    'consent.organization': 'Arbeitsbereich',
    'consent.organization.choose': 'Arbeitsbereich auswählen',
    'consent.organization.text': '{client} kann nur diesen verwenden und keinen anderen.',
    'consent.organization.missing.title': 'Es ist noch kein Arbeitsbereich ausgewählt',
    'consent.organization.missing.link': 'Arbeitsbereich auswählen',
    'consent.organization.missing.field': 'Wählen Sie den Arbeitsbereich aus, den {client} verwenden darf.',
    'consent.organization.gone.title': 'Sie haben keinen Zugriff mehr auf diesen Arbeitsbereich',
    'consent.organization.gone.link': 'Anderen Arbeitsbereich auswählen',
    'consent.organization.gone.field': 'Wählen Sie einen anderen Arbeitsbereich aus.',
    'consent.new': 'Neu',
    'consent.optional': 'Freiwillig',
    'consent.risk': 'Heikel',
    'consent.details': 'Einzelheiten',
    'consent.claim': 'Einsehen: {claim}',
    'consent.claims': 'Was weitergegeben wird',
    'consent.deny': 'Abbrechen',
    'consent.allow': 'Erlauben',
    'consent.redirect': 'Sie werden zu {destination} weitergeleitet',
    'consent.policy': 'Datenschutzerklärung von {client}',
    'consent.tos': 'Nutzungsbedingungen von {client}',
    'consent.new-tab': '(öffnet sich in einem neuen Tab)',
    'consent.remove': 'Sie können den Zugriff jederzeit unter {account} entfernen.',
    'consent.remove.account': '„Verbundene Apps“',

    'account.title': 'Verbundene Apps',
    'account.text': 'Diese Apps und Websites können Ihr Konto bei {product} verwenden.',
    'account.username': 'Angemeldet als {username}',
    'account.sign-out': 'Abmelden',
    'account.empty': 'Keine App oder Website kann Ihr Konto bei {product} verwenden.',
    'account.empty.text':
      'Sobald Sie einer den Zugriff erlauben, erscheint sie hier, und Sie können sie jederzeit entfernen.',
    'account.removed': 'Zugriff entfernt. {client} kann Ihr Konto nicht mehr verwenden.',
    'account.removed.organization':
      'Zugriff entfernt. {client} kann den Arbeitsbereich {organization} nicht mehr verwenden.',
    'account.organization': 'Arbeitsbereich {organization}',
    'account.scopes': 'Erlaubt ist',
    'account.since': 'Zugriff seit',
    'account.last-used': 'Zuletzt verwendet',
    'account.sessions': 'Aktive Anmeldungen',
    'account.remove': 'Zugriff entfernen',
    'account.remove.of': 'von {client}',
    'account.remove.of.organization': 'von {client} auf den Arbeitsbereich {organization}',
    'account-sign-in.title': 'Sie sind nicht angemeldet',
    'account-sign-in.text':
      'Melden Sie sich an, um zu sehen, welche Apps und Websites Ihr Konto bei {product} verwenden können.',
    'account-sign-in.link': 'Anmelden',

    'remove-client.title': 'Zugriff entfernen?',
    'remove-client.effect':
      'Das gilt sofort: {client} kann Ihr Konto bei {product} auf keinem Gerät mehr verwenden.',
    'remove-client.effect.organization':
      'Das gilt sofort: {client} kann den Arbeitsbereich {organization} auf keinem Gerät mehr verwenden. Der Zugriff auf andere Arbeitsbereiche bleibt bestehen.',
    'remove-client.kept': 'Was {client} bereits von Ihnen erhalten hat, kann dort gespeichert bleiben.',
    'remove-client.again': 'Wenn Sie die App wieder verwenden, werden Sie erneut gefragt.',
    'remove-client.first-party':
      'Die App gehört zu {product}: Wenn Sie sie wieder verwenden, erhält sie ohne Rückfrage wieder Zugriff.',
    'remove-client.cancel': 'Abbrechen',
    'remove-client.submit': 'Entfernen',

    'error.error.title': 'Diese Anfrage kann nicht abgeschlossen werden',
    'error.error.what':
      'Die Website oder App, von der Sie kommen, hat eine Anfrage geschickt, die {product} nicht annehmen kann.',
    'error.error.next':
      'Gehen Sie dorthin zurück und versuchen Sie es noch einmal. Wenn es wieder geschieht, wenden Sie sich an den Betreiber.',
    'error.fault.title': 'Etwas ist schiefgegangen',
    'error.fault.what': 'Der Fehler liegt bei uns, nicht bei Ihnen.',
    'error.fault.next':
      'Gehen Sie zurück und versuchen Sie es noch einmal. Wenn es wieder geschieht, nennen Sie uns die Fehler-ID unten.',
    'error.expired.title': 'Diese Anmeldung hat zu lange gedauert',
    'error.expired.what':
      'Zu Ihrer Sicherheit lässt sich eine Anmeldung nur für kurze Zeit und nur einmal abschließen.',
    'error.expired.next':
      'Gehen Sie zu der Website oder App zurück, von der Sie kommen, und beginnen Sie von vorn.',
    'error.unavailable.title': 'Wir sind gleich wieder da',
    'error.unavailable.what': 'Bei {product} ist im Moment keine Anmeldung möglich.',
    'error.unavailable.next':
      'Warten Sie eine Minute und laden Sie diese Seite neu. Es ist nichts verloren gegangen.',
    'error.start-again': 'Bei {client} neu beginnen',
    'error.small-print': 'Zu diesem Fehler',
    'error.code': 'Fehlercode',
    'error.id': 'Fehler-ID',
    'error.time': 'Zeit',
    'error.detail': 'Für die Entwicklung',

    'sign-out.title': 'Abmelden?',
    'sign-out.text': 'Sie sind bei {product} als {username} angemeldet.',
    'sign-out.client': '{client} möchte Sie bei {product} abmelden, wo Sie als {username} angemeldet sind.',
    'sign-out.stay': 'Schließen Sie diese Seite, um angemeldet zu bleiben.',
    'sign-out.submit': 'Abmelden',

    'signed-out.title': 'Sie sind abgemeldet',
    'signed-out.text': 'Sie können dieses Fenster schließen.',
    'signed-out.back': 'Zurück zu {client}',

    'return.title': 'Einen Moment',
    'return.text': 'Wenn nichts geschieht, verwenden Sie die Schaltfläche unten.',
    'return.link': 'Weiter',

    'form-post.title': 'Einen Moment',
    'form-post.text':
      'Sie werden zurückgeleitet. Wenn nichts geschieht, verwenden Sie die Schaltfläche unten.',
    'form-post.submit': 'Weiter',

    'footer.label': 'Hilfe und Datenschutz',
    'footer.help': 'Hilfe',
    'footer.privacy': 'Datenschutz',
    'footer.language': 'Sprache',

    'value.yes': 'Ja',
    'value.no': 'Nein',

    'scope.openid': 'Ihr Konto wiedererkennen',
    'scope.profile': 'Ihren Namen und Ihr Profil sehen',
    'scope.email': 'Ihre E-Mail-Adresse sehen',
    'scope.address': 'Ihre Postanschrift sehen',
    'scope.phone': 'Ihre Telefonnummer sehen',
    'scope.offline_access': 'Diesen Zugriff behalten, bis Sie ihn entfernen',

    'claim.sub': 'Kontokennung',
    'claim.name': 'Name',
    'claim.given_name': 'Vorname',
    'claim.family_name': 'Nachname',
    'claim.middle_name': 'Zweiter Vorname',
    'claim.nickname': 'Spitzname',
    'claim.preferred_username': 'Benutzername',
    'claim.profile': 'Profilseite',
    'claim.picture': 'Bild',
    'claim.website': 'Website',
    'claim.email': 'E-Mail-Adresse',
    'claim.email_verified': 'E-Mail-Adresse bestätigt',
    'claim.gender': 'Geschlecht',
    'claim.birthdate': 'Geburtsdatum',
    'claim.zoneinfo': 'Zeitzone',
    'claim.locale': 'Sprache',
    'claim.phone_number': 'Telefon',
    'claim.phone_number_verified': 'Telefonnummer bestätigt',
    'claim.address': 'Anschrift',
    'claim.updated_at': 'Zuletzt geändert',
  },
}
