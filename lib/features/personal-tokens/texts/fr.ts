export const fr = {
  'personal-tokens.title': 'Jetons d’accès',
  'personal-tokens.text':
    'Avec un jeton d’accès, des scripts et des outils peuvent utiliser votre compte {product}. Protégez-le comme un mot de passe.',
  'personal-tokens.created': 'Votre nouveau jeton «\u00a0{name}\u00a0»',
  'personal-tokens.created.text':
    'Copiez-le maintenant et conservez-le en lieu sûr. Il ne sera plus affiché.',
  'personal-tokens.revoked': 'Le jeton ne fonctionne plus.',
  'personal-tokens.empty': 'Vous n’avez pas encore de jetons d’accès.',
  'personal-tokens.full':
    'Vous avez atteint la limite de {count} jetons. Pour en créer un autre, révoquez-en un.',
  'personal-tokens.new': 'Nouveau jeton',
  'personal-tokens.expires': 'Expire le {date}',
  'personal-tokens.expired': 'Expiré le {date}',
  'personal-tokens.since': 'Créé le',
  'personal-tokens.last-used': 'Dernière utilisation',
  'personal-tokens.never': 'Jamais',
  'personal-tokens.revoke': 'Révoquer',
  'personal-tokens.revoke.of': 'le jeton {name}',
  'personal-token-form.name.hint': 'À quoi il sert, par exemple «\u00a0Script de sauvegarde\u00a0».',
  'personal-token-form.days': 'Durée',
  'personal-token-form.days.count': '{days} jours',
  'personal-token-form.days.other': 'Une autre date',
  'personal-tokens.ended': 'Expirés',
  'personal-token-form.submit': 'Créer le jeton',
  'personal-token-form.error.access': 'Votre compte n’est pas autorisé à créer ce jeton.',
  'personal-token-form.error.name': 'Saisissez un nom de 60 caractères au maximum.',
  'personal-token-form.error.scopes': 'Choisissez au moins une autorisation.',
  'personal-token-form.error.days': 'Choisissez une date entre demain et le {date}.',
  'personal-token-form.error.organization': 'Choisissez un espace de travail.',
  'personal-token-form.error.things': 'Choisissez ce que le jeton peut utiliser.',
  'personal-token-form.error.moved':
    'Vous avez changé d’espace de travail. Choisissez de nouveau ce que le jeton peut utiliser.',
  'revoke-token.title': 'Révoquer le jeton «\u00a0{name}\u00a0»\u202f?',
  'revoke-token.text':
    'Les scripts et les outils qui l’utilisent perdent immédiatement l’accès. Cette action est irréversible.',
}
