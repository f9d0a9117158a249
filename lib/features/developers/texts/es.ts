export const es = {
  'developer.title': 'Sus aplicaciones',
  'developer.text':
    'Las aplicaciones que registre aquí pueden pedir a los usuarios que inicien sesión con su cuenta de {product}.',
  'developer.forbidden': 'No puede registrar aplicaciones con esta cuenta.',
  'developer.new': 'Registrar una aplicación',
  'developer.empty': 'Todavía no tiene aplicaciones.',
  'developer.full': 'Ha alcanzado el límite de {count} aplicaciones. Para registrar otra, elimine una.',
  'developer.state.active': 'Activa',
  'developer.state.waiting': 'Pendiente de aprobación',
  'developer.state.changed': 'Activa. Hay cambios pendientes de aprobación',
  'developer.state.refused': 'No aprobada',
  'developer.state.unchanged': 'Activa. Los cambios no se aprobaron',
  'developer.state.disabled': 'Desactivada por {product}',
  'developer.notice.created': 'Su aplicación está registrada.',
  'developer.notice.saved': 'Sus cambios se han guardado.',
  'developer.notice.sent': 'Enviado a {product} para su aprobación.',
  'developer.notice.rotated': 'Su aplicación tiene un secreto nuevo.',
  'developer.notice.deleted': 'La aplicación se ha eliminado.',
  'developer-form.edit': 'Cambiar {client}',
  'developer-form.approval': '{product} revisa cada aplicación antes de que se pueda usar.',
  'developer-form.approval.changes':
    '{product} revisa primero sus cambios. Hasta entonces, la aplicación sigue como está.',
  'developer-form.stale':
    'Esta aplicación ha cambiado desde que abrió este formulario. Revise los datos y guarde otra vez.',
  'developer-form.register': 'Registrar',
  'developer-form.save': 'Guardar',
  'developer-client.refused': 'Cambie la aplicación para enviarla de nuevo.',
  'developer-client.unchanged': 'La aplicación sigue como estaba. Puede enviar otros cambios.',
  'developer-client.disabled':
    'Esta aplicación no se puede usar en este momento. Póngase en contacto con {product}.',
  'developer-client.secret': 'Secreto del cliente',
  'developer-client.secret.text': 'Cópielo ahora y guárdelo en un lugar seguro. No se volverá a mostrar.',
  'developer-client.edit': 'Cambiar',
  'developer-client.rotate': 'Secreto nuevo',
  'developer-client.delete': 'Eliminar',
  'developer-confirm.rotate.title': '¿Crear un secreto nuevo para {client}?',
  'developer-confirm.rotate.text':
    'El secreto anterior sigue funcionando un día más, para que pueda sustituirlo.',
  'developer-confirm.rotate.now': 'Invalidar ya el secreto anterior',
  'developer-confirm.delete.title': '¿Eliminar {client}?',
  'developer-confirm.delete.text':
    'Quienes usan {client} pierden el acceso de inmediato. Esto no se puede deshacer.',
}
