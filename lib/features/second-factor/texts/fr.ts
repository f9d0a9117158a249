export const fr = {
  'second-factor.title': 'Saisissez votre code',
  'second-factor.app.text': 'Ouvrez votre application d’authentification et saisissez le code de ce compte.',
  'second-factor.sent.to': 'Nous avons envoyé un code à {to}. Saisissez-le ici.',
  'second-factor.sent.text': 'Saisissez le code que nous vous avons envoyé.',
  'second-factor.sent.notice': 'Nous vous avons envoyé un autre code.',
  'second-factor.code': 'Code',
  'second-factor.submit': 'Continuer',
  'second-factor.send': 'Envoyer un autre code',
  'second-factor.use-recovery': 'Utiliser un code de secours',
  'second-factor.use-code': 'Utiliser un code de l’application',
  'second-factor.recovery.title': 'Saisissez un code de secours',
  'second-factor.recovery.text':
    'Saisissez l’un des codes de secours que vous avez enregistrés. Chaque code ne sert qu’une fois.',
  'second-factor.recovery.code': 'Code de secours',
  'second-factor.wrong.title': 'Code incorrect',
  'second-factor.wrong.text': 'Vérifiez le code et saisissez-le à nouveau. Chaque code ne sert qu’une fois.',
  'second-factor.not-sent.title': 'Nous ne pouvons plus envoyer de code pour le moment',
  'second-factor.not-sent.text': 'Saisissez le dernier code reçu, ou reconnectez-vous plus tard.',
  'second-factor.unavailable.text': 'Nous n’avons pas pu vérifier votre code. Réessayez dans un instant.',
  'second-factor-settings.title': 'Connexion en deux étapes',
  'second-factor-settings.text':
    'Ajoutez un code de votre téléphone, pour qu’un mot de passe volé ne suffise pas.',
  'second-factor-settings.on.text':
    'Pour vous connecter, il faut votre mot de passe et un code de votre application d’authentification.',
  'second-factor-settings.scan':
    'Scannez ceci avec votre application d’authentification, puis saisissez le code qu’elle affiche.',
  'second-factor-settings.qr': 'Code QR pour votre application d’authentification',
  'second-factor-settings.secret': 'Ou saisissez cette clé dans l’application :',
  'second-factor-settings.confirm': 'Activer',
  'second-factor-settings.since': 'Activée depuis',
  'second-factor-settings.codes-left': 'Codes de secours restants',
  'second-factor-settings.open': 'Ouvrir votre application d’authentification',
  'second-factor-settings.change':
    'Pour faire des changements, saisissez un code de votre application ou un code de secours.',
  'second-factor-settings.on': 'La connexion en deux étapes est activée.',
  'second-factor-settings.few':
    'Il ne vous reste presque plus de codes de secours. Créez-en de nouveaux avant d’en avoir besoin.',
  'second-factor-settings.renew': 'Nouveaux codes de secours',
  'second-factor-settings.replace': 'Utiliser une autre application',
  'second-factor-settings.replace.title': 'Configurer une autre application',
  'second-factor-settings.replace.text':
    'Votre application actuelle fonctionne jusqu’à ce que vous saisissiez le premier code de la nouvelle.',
  'second-factor-settings.replace.confirm': 'Utiliser cette application',
  'second-factor-settings.replace.cancel': 'Garder l’application actuelle',
  'second-factor-settings.replaced':
    'Votre nouvelle application est configurée. Les codes de l’ancienne ne fonctionnent plus.',
  'second-factor-settings.codes.download': 'Télécharger',
  'second-factor-settings.codes.print': 'Imprimer',
  'second-factor-settings.remove.code': 'Code ou code de secours',
  'second-factor-settings.remove': 'Désactiver',
  'second-factor-settings.removed': 'La connexion en deux étapes est désactivée.',
  'second-factor-settings.throttled.text': 'Réessayez dans {wait}.',
  'second-factor-settings.codes.title': 'Enregistrez vos codes de secours',
  'second-factor-settings.codes.text':
    'Si vous perdez votre application d’authentification, vous pourrez vous connecter avec l’un de ces codes. Chacun ne sert qu’une fois. Ils ne seront plus affichés.',
  'second-factor-settings.codes.submit': 'Je les ai enregistrés',
}
