export const fr = {
  'error.pushed-expired.title': 'Cette connexion a expiré',
  'error.pushed-expired.what':
    'Pour votre sécurité, chaque lien de connexion ne fonctionne qu’une fois, pendant un court moment.',
  'error.pushed-expired.link': 'Recommencer',
  'error.pushed-finished.title': 'Ce lien a déjà été utilisé',
  'error.pushed-finished.what': 'Pour votre sécurité, chaque lien de connexion ne fonctionne qu’une fois.',
  'error.pushed-finished.link': 'Continuer vers {client}',
}
