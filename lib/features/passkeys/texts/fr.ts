export const fr = {
  'login.passkey': 'Se connecter avec une clé d’accès',
  'login.passkey.none': 'Aucune clé d’accès n’a été utilisée. Réessayez, ou utilisez votre mot de passe.',
  'login.passkey.needed':
    'Utilisez votre clé d’accès pour continuer. Sur cette page, votre mot de passe seul ne suffit pas.',
  'login.passkey.failed.title': 'Cette clé d’accès n’a pas fonctionné',
  'login.passkey.failed.text': 'Réessayez, ou utilisez votre mot de passe.',
  'passkeys.title': 'Clés d’accès',
  'passkeys.text':
    'Connectez-vous à {product} avec votre empreinte, votre visage ou le verrouillage de l’écran, sans mot de passe.',
  'passkeys.empty': 'Vous n’avez pas encore de clé d’accès.',
  'passkeys.unnamed': 'Clé d’accès sans nom',
  'passkeys.on': 'Clé d’accès sur {device}',
  'passkeys.security-key': 'Clé de sécurité',
  'passkeys.created': 'Ajoutée le {date}',
  'passkeys.change': 'Modifier',
  'passkeys.add': 'Ajouter une clé d’accès',
  'passkeys.none': 'Aucune clé d’accès n’a été ajoutée. Cet appareil en a peut-être déjà une.',
  'passkeys.script':
    'Pour ajouter une clé d’accès, activez JavaScript dans un navigateur qui les prend en charge.',
  'passkeys.full':
    'Vous avez atteint la limite de {count} clés d’accès. Pour en ajouter une autre, supprimez-en d’abord une.',
  'passkeys.added': 'Clé d’accès ajoutée. Vous pouvez désormais vous connecter avec elle.',
  'passkeys.not-added': 'La clé d’accès n’a pas été ajoutée. Veuillez réessayer.',
  'passkeys.renamed': 'Nom modifié.',
  'passkeys.removed': 'Clé d’accès supprimée. Plus personne ne peut se connecter avec elle.',
  'passkey.title': 'Modifier « {passkey} »',
  'passkey.new': 'Nommez votre clé d’accès',
  'passkey.later': 'Plus tard',
  'passkey.name': 'Nom de la clé d’accès',
  'passkey.rename': 'Enregistrer le nom',
  'passkey.remove.text':
    'Si vous supprimez cette clé d’accès, vous ne pourrez plus vous connecter avec elle. Supprimez-la aussi sur votre appareil.',
  'passkey.remove': 'Supprimer',
  'passkey.cancel': 'Annuler',
}
