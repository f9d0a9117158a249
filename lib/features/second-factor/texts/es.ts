export const es = {
  'second-factor.title': 'Introduzca su código',
  'second-factor.app.text': 'Abra su aplicación de autenticación e introduzca el código de esta cuenta.',
  'second-factor.sent.text': 'Introduzca el código que le hemos enviado.',
  'second-factor.sent.notice': 'Le hemos enviado otro código.',
  'second-factor.code': 'Código',
  'second-factor.submit': 'Continuar',
  'second-factor.send': 'Enviar otro código',
  'second-factor.use-recovery': 'Usar un código de recuperación',
  'second-factor.use-code': 'Usar un código de la aplicación',
  'second-factor.recovery.title': 'Introduzca un código de recuperación',
  'second-factor.recovery.text':
    'Introduzca uno de los códigos de recuperación que guardó. Cada código sirve una sola vez.',
  'second-factor.recovery.code': 'Código de recuperación',
  'second-factor.wrong.title': 'Código incorrecto',
  'second-factor.wrong.text': 'Compruebe el código e introdúzcalo de nuevo. Cada código sirve una sola vez.',
  'second-factor.not-sent.title': 'Ahora no podemos enviar más códigos',
  'second-factor.not-sent.text': 'Introduzca el último código que recibió o inicie sesión más tarde.',
  'second-factor.unavailable.text': 'No hemos podido comprobar su código. Inténtelo de nuevo en un momento.',
  'second-factor-settings.title': 'Inicio de sesión en dos pasos',
  'second-factor-settings.text':
    'Con una aplicación de autenticación, su contraseña por sí sola ya no basta para iniciar sesión.',
  'second-factor-settings.on.text':
    'Para iniciar sesión necesita su contraseña y un código de su aplicación de autenticación.',
  'second-factor-settings.scan':
    'Escanee esto con su aplicación de autenticación e introduzca el código que muestra.',
  'second-factor-settings.qr': 'Código QR para su aplicación de autenticación',
  'second-factor-settings.secret': 'O escriba esta clave en la aplicación:',
  'second-factor-settings.confirm': 'Activar',
  'second-factor-settings.since': 'Activado desde',
  'second-factor-settings.codes-left': 'Códigos de recuperación restantes',
  'second-factor-settings.again':
    'Para obtener nuevos códigos de recuperación o usar otra aplicación, desactívelo y vuelva a activarlo.',
  'second-factor-settings.remove.code': 'Código o código de recuperación',
  'second-factor-settings.remove': 'Desactivar',
  'second-factor-settings.removed': 'El inicio de sesión en dos pasos está desactivado.',
  'second-factor-settings.throttled.text': 'Inténtelo de nuevo en {wait}.',
  'second-factor-settings.codes.title': 'Guarde sus códigos de recuperación',
  'second-factor-settings.codes.text':
    'Si pierde su aplicación de autenticación, podrá iniciar sesión con uno de estos códigos. Cada uno sirve una sola vez. No se volverán a mostrar.',
  'second-factor-settings.codes.submit': 'Los he guardado',
}
