export const fr = {
  'developer.title': 'Vos applications',
  'developer.text':
    'Les applications que vous enregistrez ici peuvent demander aux utilisateurs de se connecter avec leur compte {product}.',
  'developer.forbidden': 'Vous ne pouvez pas enregistrer d’applications avec ce compte.',
  'developer.new': 'Enregistrer une application',
  'developer.empty': 'Vous n’avez pas encore d’applications.',
  'developer.full':
    'Vous avez atteint la limite de {count} applications. Pour en enregistrer une autre, supprimez-en une.',
  'developer.state.active': 'Active',
  'developer.state.waiting': 'En attente d’approbation',
  'developer.state.changed': 'Active. Des modifications attendent une approbation',
  'developer.state.refused': 'Non approuvée',
  'developer.state.unchanged': 'Active. Les modifications n’ont pas été approuvées',
  'developer.state.disabled': 'Désactivée par {product}',
  'developer.notice.created': 'Votre application est enregistrée.',
  'developer.notice.saved': 'Vos modifications sont enregistrées.',
  'developer.notice.sent': 'Envoyée à {product} pour approbation.',
  'developer.notice.rotated': 'Votre application a un nouveau secret.',
  'developer.notice.deleted': 'L’application est supprimée.',
  'developer-form.edit': 'Modifier {client}',
  'developer-form.approval': '{product} vérifie chaque application avant qu’on puisse l’utiliser.',
  'developer-form.approval.changes':
    '{product} vérifie d’abord vos modifications. D’ici là, l’application reste telle quelle.',
  'developer-form.stale':
    'Cette application a changé depuis que vous avez ouvert ce formulaire. Vérifiez vos saisies et enregistrez à nouveau.',
  'developer-form.register': 'Enregistrer',
  'developer-form.save': 'Enregistrer',
  'developer-client.refused': 'Modifiez l’application pour l’envoyer à nouveau.',
  'developer-client.unchanged':
    'L’application reste telle qu’elle était. Vous pouvez envoyer d’autres modifications.',
  'developer-client.disabled':
    'Cette application ne peut pas être utilisée pour le moment. Contactez {product}.',
  'developer-client.secret': 'Secret du client',
  'developer-client.secret.text':
    'Copiez-le maintenant et conservez-le en lieu sûr. Il ne sera plus affiché.',
  'developer-client.edit': 'Modifier',
  'developer-client.rotate': 'Nouveau secret',
  'developer-client.delete': 'Supprimer',
  'developer-confirm.rotate.title': 'Créer un nouveau secret pour {client} ?',
  'developer-confirm.rotate.text':
    'Le secret précédent fonctionne encore un jour, pour vous laisser le temps de le remplacer.',
  'developer-confirm.rotate.now': 'Désactiver le secret précédent tout de suite',
  'developer-confirm.delete.title': 'Supprimer {client} ?',
  'developer-confirm.delete.text':
    'Les personnes qui utilisent {client} perdent immédiatement l’accès. Cette action est irréversible.',
}
